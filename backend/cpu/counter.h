// Counter: a number that only grows, which one thread raises and others wait for. Every edge
// between threads of the CPU engine goes through one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace syncopate::cpu {

/// raise(v) happens before what follows a reached(v) that returned true, and nothing else is
/// ordered: polls are relaxed, a sleeper orders nothing for the thread that wakes it, and there is
/// no lock. A program that lacks an edge therefore lacks it here too, where ThreadSanitizer sees
/// it. (Who finds the counter past v is ordered after the later raise as well.)
///
/// std::atomic::wait would not do: in libstdc++ it goes through a table of waiters that all atomics
/// share, whose sequentially consistent counters order threads that never spoke to each other.
///
/// Thread-safe.
class Counter {
 public:
  /// Values must stay below this: the word's lowest bit says that somebody sleeps.
  static constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

  /// The value, with no order implied.
  std::uint64_t peek() const { return word_.load(std::memory_order_relaxed) >> 1; }

  /// Whether the counter is at least `value`. Orders only when it is.
  bool reached(std::uint64_t value) const {
    return peek() >= value && word_.load(std::memory_order_acquire) >> 1 >= value;
  }

  /// Makes the counter at least `value` and wakes who sleeps on it.
  void raise(std::uint64_t value);

  /// Sleeps while the counter is below `value`; returns when that may have changed, or after
  /// `longest`. Callers loop.
  void sleep_below(std::uint64_t value, std::chrono::nanoseconds longest);

 private:
  // The value shifted by one, and the sleeper's bit in the same word: both sides then meet in one
  // modification order, and no wake-up is lost without a fence between two variables.
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace syncopate::cpu
