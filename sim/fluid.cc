#include "sim/fluid.h"

#include <algorithm>

namespace syncopate::sim {

using runtime::Nanos;

Fluid::Kernel Fluid::kernel_of(std::uint32_t task, const Demand& demand, Nanos work, bool idle) {
  const auto slots = static_cast<std::int64_t>(demand.holds * static_cast<double>(kSlots) + 0.5);
  return {task, slots, demand.sm, demand.bandwidth, static_cast<double>(work), 1.0, 0, 0, idle};
}

bool Fluid::submit(Nanos now, const Kernel& kernel) {
  if (!waiting_.empty() || kernel.slots > free_slots_) {
    waiting_.push(kernel);
    return false;
  }
  start(now, kernel);
  return true;
}

void Fluid::start(Nanos now, Kernel kernel) {
  free_slots_ -= kernel.slots;
  kernel.since = now;
  kernel.end = kernel.idle ? kNever : now + static_cast<Nanos>(kernel.work);
  changed_ = now;
  stale_ = !running_.empty();  // alone at rate 1, the end is known
  running_.push_back(kernel);
}

void Fluid::begin_work(Nanos now, std::uint32_t task) {
  const auto kernel = std::find_if(running_.begin(), running_.end(),
                                   [task](const Kernel& k) { return k.task == task; });
  kernel->idle = false;
  kernel->since = now;
  kernel->end = now + static_cast<Nanos>(kernel->work);
  changed_ = now;
  stale_ = running_.size() > 1;
}

Nanos Fluid::next_end_of_many() {
  if (stale_) set_rates();
  Nanos end = kNever;
  for (const Kernel& kernel : running_) end = std::min(end, kernel.end);
  return end;
}

std::optional<std::uint32_t> Fluid::take_ended(Nanos now) {
  for (auto kernel = running_.begin(); kernel != running_.end(); ++kernel) {
    if (kernel->end > now) continue;
    const std::uint32_t task = kernel->task;
    free_slots_ += kernel->slots;
    running_.erase(kernel);
    changed_ = now;
    stale_ = !running_.empty();
    return task;
  }
  return std::nullopt;
}

void Fluid::set_rates() {
  stale_ = false;
  double sm = 0, bandwidth = 0;
  for (const Kernel& kernel : running_) {
    if (kernel.idle) continue;
    sm += kernel.sm;
    bandwidth += kernel.bandwidth;
  }
  const double sm_factor = sm > 1 ? 1 / sm : 1;
  const double bandwidth_factor = bandwidth > 1 ? 1 / bandwidth : 1;
  for (Kernel& kernel : running_) {
    if (kernel.idle) continue;
    const double rate =
        std::min(kernel.sm > 0 ? sm_factor : 1, kernel.bandwidth > 0 ? bandwidth_factor : 1);
    if (rate == kernel.rate) continue;  // its end stands, with no rounding added
    const double done = kernel.rate * static_cast<double>(changed_ - kernel.since);
    kernel.work = std::max(0.0, kernel.work - done);
    kernel.rate = rate;
    kernel.since = changed_;
    kernel.end = changed_ + static_cast<Nanos>(kernel.work / rate + 0.5);
  }
}

}  // namespace syncopate::sim
