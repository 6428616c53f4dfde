#include "backend/cpu/counter.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <ctime>

namespace syncopate::cpu {
namespace {

constexpr std::uint64_t kSleeper = 1;

// The kernel compares 32 bits: the word's lower half, which every change of the counter changes.
static_assert(std::endian::native == std::endian::little);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

void futex_wait(std::atomic<std::uint64_t>& word, std::uint64_t expected,
                std::chrono::nanoseconds longest) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  timespec timeout{};
  timeout.tv_sec = seconds.count();
  timeout.tv_nsec = (longest - seconds).count();
  // Every reason to return (woken, changed, timed out, interrupted) is one to look again.
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(expected), &timeout,
          nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint64_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void Counter::raise(std::uint64_t value) {
  std::uint64_t old = word_.load(std::memory_order_relaxed);
  do {
    if (old >> 1 >= value) return;
  } while (!word_.compare_exchange_weak(old, value << 1, std::memory_order_release,
                                        std::memory_order_relaxed));
  if ((old & kSleeper) != 0) futex_wake_all(word_);
}

void Counter::sleep_below(std::uint64_t value, std::chrono::nanoseconds longest) {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  while (seen >> 1 < value) {
    // Relaxed, and a read-modify-write: it neither orders the two threads nor cuts the order from
    // the raise before it to a later reached().
    if ((seen & kSleeper) != 0 ||
        word_.compare_exchange_weak(seen, seen | kSleeper, std::memory_order_relaxed)) {
      futex_wait(word_, seen | kSleeper, longest);
      return;
    }
  }
}

}  // namespace syncopate::cpu
