#include "sim/hosts.h"

#include <algorithm>
#include <thread>

namespace syncopate::sim {

using runtime::Nanos;

Hosts::Hosts(int count)
    : count_(count), states_(std::make_unique<State[]>(static_cast<std::size_t>(count))) {}

void Hosts::block(int host, Nanos call, Nanos wake) {
  State& blocked = state(host);
  blocked.status = Status::kBlocked;
  blocked.call = call;
  blocked.wake = wake;
}

void Hosts::wake(int host, Nanos time) {
  State& woken = state(host);
  const Nanos earliest = woken.clock + woken.call;
  woken.clock = time <= woken.clock ? earliest : std::max(earliest, time + woken.wake);
  woken.status = Status::kReady;
  ++wakes_;
}

void Hosts::release_all() {
  for (int host = 0; host < count_; ++host) {
    if (blocked(host)) state(host).status = Status::kReady;
  }
}

int Hosts::next() const {
  int least = -1;
  for (int host = 0; host < count_; ++host) {
    if (state(host).status != Status::kReady) continue;
    if (least < 0 || state(host).clock < state(least).clock) least = host;
  }
  return least;
}

bool Hosts::all_done() const {
  return std::all_of(states_.get(), states_.get() + count_,
                     [](const State& host) { return host.status == Status::kDone; });
}

Nanos Hosts::latest_clock() const {
  Nanos latest = 0;
  for (int host = 0; host < count_; ++host) latest = std::max(latest, state(host).clock);
  return latest;
}

void Hosts::run(int count, const std::function<void(int)>& main) {
  for (int host = 0; host < count; ++host) state(host).status = Status::kReady;
  turn_ = 0;
  if (count == 1) {
    main(0);
    return;
  }
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int host = 0; host < count; ++host) {
    threads.emplace_back([this, host, &main] {
      wait_for_turn(host);
      main(host);
    });
  }
}

void Hosts::hand_over(int from, int to) {
  const bool done = state(from).status == Status::kDone;  // not ours to read without the baton
  {
    const std::scoped_lock lock(mutex_);
    turn_ = to;
  }
  state(to).turn.notify_one();
  if (!done) wait_for_turn(from);
}

void Hosts::wait_for_turn(int host) {
  std::unique_lock lock(mutex_);
  state(host).turn.wait(lock, [&] { return turn_ == host; });
}

}  // namespace syncopate::sim
