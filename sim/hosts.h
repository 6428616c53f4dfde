// Hosts: the clocks of the host threads in virtual time, and the baton that lets one of them run.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::sim {

/// State of the hosts. All but run() is called by the host that has the baton (or before run()), so
/// nothing here needs a lock; the baton's hand-over orders memory between threads.
class Hosts {
 public:
  explicit Hosts(int count);

  runtime::Nanos& clock(int host) { return state(host).clock; }

  /// `host` cannot go on until wake(). If it is woken for a time that is not after its clock, it
  /// goes on at clock + `call`; else at `wake` after that time, and no sooner than clock + `call`.
  void block(int host, runtime::Nanos call, runtime::Nanos wake);
  void wake(int host, runtime::Nanos time);
  /// Calls of wake() so far: while it stands, events have not changed who is next().
  std::uint64_t wakes() const { return wakes_; }
  /// Lets all blocked hosts go on as they are.
  void release_all();
  void finish(int host) { state(host).status = Status::kDone; }

  bool blocked(int host) const { return state(host).status == Status::kBlocked; }
  /// The host that can go on with the least clock, ties by id; -1 when there is none.
  int next() const;
  bool all_done() const;
  runtime::Nanos latest_clock() const;

  /// Runs main(h) for each of `count` hosts and returns when all have returned; host 0 first. One
  /// host runs on the caller's thread, several have one thread each. `main` must not throw.
  void run(int count, const std::function<void(int)>& main);
  /// Host `from` gives the baton to `to`, and waits for it to come back unless it has finished.
  void hand_over(int from, int to);

 private:
  enum class Status : std::uint8_t { kReady, kBlocked, kDone };
  struct State {
    Status status = Status::kDone;
    runtime::Nanos clock = 0;
    runtime::Nanos call = 0;
    runtime::Nanos wake = 0;
    std::condition_variable turn;
  };

  State& state(int host) { return states_[static_cast<std::size_t>(host)]; }
  const State& state(int host) const { return states_[static_cast<std::size_t>(host)]; }
  void wait_for_turn(int host);

  int count_;
  std::uint64_t wakes_ = 0;
  std::unique_ptr<State[]> states_;
  std::mutex mutex_;
  int turn_ = 0;  // who has the baton; under mutex_
};

}  // namespace syncopate::sim
