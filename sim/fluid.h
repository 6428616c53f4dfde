// Kernels that run at the same time on one device, as a fluid: each runs at a rate that the
// scarcest resource it uses allows, and work flows on continuously between changes.
//
// For each resource (SM throughput, memory bandwidth), factor = min(1, 1 / sum of the demands of
// what runs); a kernel's rate is the least factor of the resources it uses, so a kernel alone runs
// at rate 1. Apart from rates, a kernel holds block slots from start to end: it starts only when
// they are free, in the order of asking, and one that does not fit holds up those behind it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "backend/runtime/handles.h"
#include "sim/ring.h"

namespace syncopate::sim {

inline constexpr runtime::Nanos kNever = std::numeric_limits<runtime::Nanos>::max();

/// Shares of a device, each 0 to 1 (see KernelCost).
struct Demand {
  double sm = 0;
  double bandwidth = 0;
  double holds = 0;
};

/// The caller keeps the clock: times given never go back, and by `now` all kernels whose end is
/// before `now` have been taken. Not thread-safe.
class Fluid {
 public:
  Fluid() { running_.reserve(16); }  // more grow it once, in mid-run

  /// `task` is ready to run for `work` ns at rate 1. True: it has started; false: it waits for
  /// slots and comes out of take_started() later.
  bool submit(runtime::Nanos now, std::uint32_t task, const Demand& demand, runtime::Nanos work) {
    return submit(now, kernel_of(task, demand, work, /*idle=*/false));
  }
  /// The same for a kernel that, once started, holds its slots and does nothing until begin_work().
  bool submit_idle(runtime::Nanos now, std::uint32_t task, const Demand& demand,
                   runtime::Nanos work) {
    return submit(now, kernel_of(task, demand, work, /*idle=*/true));
  }
  void begin_work(runtime::Nanos now, std::uint32_t task);

  /// When the next kernel ends if nothing else happens; kNever when none runs.
  runtime::Nanos next_end() {
    if (running_.size() == 1 && !stale_) return running_.front().end;
    return next_end_of_many();
  }

  /// A kernel that ends at `now`, which then runs no more; the one that started first, if several.
  std::optional<std::uint32_t> take_ended(runtime::Nanos now);
  /// The next waiting kernel if it fits; it has then started.
  std::optional<std::uint32_t> take_started(runtime::Nanos now) {
    if (waiting_.empty() || waiting_.front().slots > free_slots_) return std::nullopt;
    const Kernel kernel = waiting_.front();
    waiting_.pop();
    start(now, kernel);
    return kernel.task;
  }

 private:
  // Slots are counted in integers: sums of shares like 0.1 must not depend on their order.
  static constexpr std::int64_t kSlots = 1'000'000;

  struct Kernel {
    std::uint32_t task;
    std::int64_t slots;
    double sm, bandwidth;
    double work;  // left at `since`, in ns at rate 1
    double rate;  // from `since` on
    runtime::Nanos since;
    runtime::Nanos end;  // kNever while idle
    bool idle;
  };

  static Kernel kernel_of(std::uint32_t task, const Demand& demand, runtime::Nanos work, bool idle);
  bool submit(runtime::Nanos now, const Kernel& kernel);
  void start(runtime::Nanos now, Kernel kernel);
  runtime::Nanos next_end_of_many();
  void set_rates();

  std::vector<Kernel> running_;  // in the order of their start
  Ring<Kernel> waiting_;
  std::int64_t free_slots_ = kSlots;
  runtime::Nanos changed_ = 0;  // when running_ last changed
  bool stale_ = false;          // rates are older than that
};

}  // namespace syncopate::sim
