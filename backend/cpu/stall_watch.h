// StallWatch: tells a deadlock from a long wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/failure.h"
#include "backend/cpu/waiter.h"

namespace syncopate::cpu {

/// A deadlock is: every thread sleeps, none for something that has been reached. Threads cannot be
/// stopped to look at them all at once, so the watch looks twice. If each thread is in the same
/// sleep both times, then all slept at once in between, and what was not reached at the second look
/// was not reached then; none of them can be the one to change it. `timeout` is the time between
/// the two looks: it bounds what a late look costs and is no guess about how long work may take,
/// since a running body is not a sleep.
///
/// One for each thread that watches; a watching thread sleeps itself, and the fast paths know
/// nothing of it. Not thread-safe.
class StallWatch {
 public:
  /// `waiters` (all threads of the engine) must outlive the watch; may still grow until the run.
  StallWatch(const std::vector<Waiter*>& waiters, std::chrono::nanoseconds timeout)
      : waiters_(waiters), timeout_(timeout) {}

  /// Forgets the first look.
  void restart() { episodes_.clear(); }
  /// Called now and then in a long wait. Stops the run when it has stalled.
  void look(Failure& failure);

 private:
  bool all_sleep() const;
  bool same_sleeps();
  std::string report() const;

  const std::vector<Waiter*>& waiters_;
  const std::chrono::nanoseconds timeout_;
  std::vector<std::uint64_t> episodes_;  // at the first look, empty when there was none
  std::chrono::steady_clock::time_point first_look_;
};

}  // namespace syncopate::cpu
