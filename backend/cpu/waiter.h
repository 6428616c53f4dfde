// Waiter: how one thread of the engine waits, and what others may know about that.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/cpu/counter.h"
#include "backend/cpu/failure.h"

namespace syncopate::cpu {

class StallWatch;

/// What a thread waits for: that `counter` reaches `value`; and what that means, for reports.
struct WaitTarget {
  enum class Meaning : std::uint8_t { kCommand, kRoom, kPosition, kFlag };

  Counter* counter = nullptr;
  std::uint64_t value = 0;
  Meaning meaning = Meaning::kPosition;
  std::uint32_t id = 0;  ///< Of the stream or flag.
  std::uint64_t at = 0;  ///< Which of its own commands the waiting stream is at; 0 for a host.

  /// "at command 2 waits for flag 3 to be 7, which is 5", as of now.
  std::string describe() const;
};

/// One for each host and stream thread. wait() and end() are for that thread; the rest is for
/// watchers, from any thread, and orders nothing.
class Waiter {
 public:
  enum class OnStop : std::uint8_t { kLeave, kStay };

  Waiter(std::string name, Failure& failure);
  /// `watch` is asked during long waits and may declare a deadlock.
  Waiter(std::string name, Failure& failure, std::unique_ptr<StallWatch> watch);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Returns true once the target is reached. Returns false if the run stops first and `on_stop`
  /// is kLeave.
  bool wait(const WaitTarget& target, OnStop on_stop = OnStop::kLeave) {
    // Steps can be microseconds long, so it is worth looking a moment before going to sleep; only a
    // moment, since the thread that is waited for may need this core.
    for (int i = 0; i < kSpins; ++i) {
      if (target.counter->reached(target.value)) return true;
      relax();
    }
    return sleep(target, on_stop);
  }
  /// This thread will not run again.
  void end() { episode_.store(kEnded, std::memory_order_relaxed); }

  const std::string& name() const { return name_; }
  bool ended() const { return episode() == kEnded; }
  /// Counts the beginnings and ends of sleeps: an odd number is a sleep under way (or the end).
  std::uint64_t episode() const { return episode_.load(std::memory_order_relaxed); }
  /// What the sleep under way is for. Torn, or without a counter, when a sleep is just beginning:
  /// compare episode() before and after.
  WaitTarget target() const;

 private:
  static constexpr int kSpins = 64;
  static constexpr std::uint64_t kEnded = UINT64_MAX;

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  bool sleep(const WaitTarget& target, OnStop on_stop);

  const std::string name_;
  Failure& failure_;
  const std::unique_ptr<StallWatch> watch_;
  std::atomic<std::uint64_t> episode_{0};
  std::atomic<Counter*> counter_{nullptr};
  std::atomic<std::uint64_t> value_{0};
  std::atomic<WaitTarget::Meaning> meaning_{WaitTarget::Meaning::kPosition};
  std::atomic<std::uint32_t> id_{0};
  std::atomic<std::uint64_t> at_{0};
};

}  // namespace syncopate::cpu
