#include "backend/cpu/stall_watch.h"

namespace syncopate::cpu {

bool StallWatch::all_sleep() const {
  for (const Waiter* waiter : waiters_) {
    const std::uint64_t episode = waiter->episode();
    if (waiter->ended()) continue;
    if (episode % 2 == 0) return false;
    const WaitTarget target = waiter->target();
    if (waiter->episode() != episode || target.counter == nullptr ||
        target.counter->peek() >= target.value) {
      return false;
    }
  }
  return true;
}

bool StallWatch::same_sleeps() {
  bool same = episodes_.size() == waiters_.size();
  episodes_.resize(waiters_.size());
  for (std::size_t i = 0; i < waiters_.size(); ++i) {
    const std::uint64_t episode = waiters_[i]->episode();
    same = same && episodes_[i] == episode;
    episodes_[i] = episode;
  }
  return same;
}

void StallWatch::look(Failure& failure) {
  if (!all_sleep()) return restart();
  const auto now = std::chrono::steady_clock::now();
  if (!same_sleeps()) {
    first_look_ = now;
  } else if (now - first_look_ >= timeout_) {
    failure.deadlocked(report());
  }
}

std::string StallWatch::report() const {
  std::string text = "no host can run and no operation is left that could wake one:";
  for (const Waiter* waiter : waiters_) {
    text += "\n  " + waiter->name() + ' ' +
            (waiter->ended() ? "has ended" : waiter->target().describe());
  }
  return text;
}

}  // namespace syncopate::cpu
