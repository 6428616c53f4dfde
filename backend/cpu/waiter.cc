#include "backend/cpu/waiter.h"

#include <chrono>
#include <utility>

#include "backend/cpu/stall_watch.h"

namespace syncopate::cpu {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// How often a sleeper looks whether the run has stopped or stalled. Nobody has to know who sleeps
// where in order to stop a run; an error takes this long to reach a sleeper.
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

std::string WaitTarget::describe() const {
  const std::string subject = std::to_string(id);
  const std::string wanted = std::to_string(value);
  const std::string place = at == 0 ? "" : "at command " + std::to_string(at) + ' ';
  switch (meaning) {
    case Meaning::kCommand:
      return "is idle after command " + std::to_string(value - 1);
    case Meaning::kRoom:
      return "waits for room in stream " + subject + ", until its command " + wanted + " is done";
    case Meaning::kPosition:
      return place + "waits for command " + wanted + " of stream " + subject;
    case Meaning::kFlag:
      break;
  }
  return place + "waits for flag " + subject + " to be " + wanted + ", which is " +
         std::to_string(counter->peek());
}

Waiter::Waiter(std::string name, Failure& failure, std::unique_ptr<StallWatch> watch)
    : name_(std::move(name)), failure_(failure), watch_(std::move(watch)) {}

Waiter::Waiter(std::string name, Failure& failure) : Waiter(std::move(name), failure, nullptr) {}

Waiter::~Waiter() = default;

bool Waiter::sleep(const WaitTarget& target, OnStop on_stop) {
  counter_.store(target.counter, kRelaxed);
  value_.store(target.value, kRelaxed);
  meaning_.store(target.meaning, kRelaxed);
  id_.store(target.id, kRelaxed);
  at_.store(target.at, kRelaxed);
  // Only this thread writes the episode: no read-modify-write needed.
  episode_.store(episode() + 1, kRelaxed);
  if (watch_) watch_->restart();
  bool reached = false;
  while (!(reached = target.counter->reached(target.value))) {
    if (on_stop == OnStop::kLeave && failure_.stopped()) break;
    target.counter->sleep_below(target.value, kLook);
    if (watch_ && !failure_.stopped()) watch_->look(failure_);
  }
  episode_.store(episode() + 1, kRelaxed);
  return reached;
}

WaitTarget Waiter::target() const {
  return {counter_.load(kRelaxed), value_.load(kRelaxed), meaning_.load(kRelaxed),
          id_.load(kRelaxed), at_.load(kRelaxed)};
}

}  // namespace syncopate::cpu
