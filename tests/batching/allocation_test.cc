// A steady step allocates nothing, and a whole run in virtual time next to nothing. Counted by
// replacing operator new, which the sanitizers replace themselves: not built under them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "sim/sim_engine.h"
#include "tests/batching/counted_allocations.h"
#include "tests/batching/workload.h"

namespace syncopate::batching {
namespace {

Workload steady_workload(std::uint32_t steps) {
  Workload workload = plain_workload(32, 8, steps);
  workload.limits.page_tokens = 16;
  workload.limits.pages = 32 * ((steps + 8 + 15) / 16);
  return workload;
}

// Allocations seen at each step's end, on the host.
std::vector<std::uint64_t> by_step(std::unique_ptr<runtime::Engine> engine, std::uint32_t steps,
                                   runtime::Detail detail) {
  const Workload workload = steady_workload(steps);
  const models::hash::HashModel model(workload.model);
  std::vector<std::uint64_t> seen;
  seen.reserve(steps);
  BatcherOptions options;
  options.on_step = [&seen](std::uint64_t, std::uint64_t) { seen.push_back(allocations.load()); };
  runtime::Runtime runtime(std::move(engine), {detail, {}});
  Batcher batcher(runtime, runtime::Device{0}, model, workload.limits, options, workload.requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  return seen;
}

TEST(AllocationTest, ASteadyStepInVirtualTimeAllocatesNothing) {
  for (const bool effects : {false, true}) {
    sim::SimOptions options;
    options.effects = effects;
    const auto seen = by_step(sim::make_sim_engine({}, options, 1), 400, runtime::Detail::kAll);
    EXPECT_EQ(seen[399] - seen[20], 0U) << "effects " << effects;
  }
}

TEST(AllocationTest, ASteadyStepOnThreadsAllocatesNothing) {
  const auto seen = by_step(cpu::make_cpu_engine({}, 1), 400, runtime::Detail::kAll);
  EXPECT_EQ(seen[399] - seen[20], 0U);
}

TEST(AllocationTest, AWholeRunOf8192StepsAllocatesAtMost30Times) {
  const Workload workload = steady_workload(8192);
  const models::hash::HashModel model(workload.model);
  const sim::HardwareProfile profile;
  sim::SimOptions options;
  options.effects = false;
  runtime::Runtime runtime(sim::make_sim_engine(profile, options, 1),
                           {runtime::Detail::kTimes, {}});
  Batcher batcher(runtime, runtime::Device{0}, model, workload.limits, {}, workload.requests);
  const std::uint64_t made = allocations.load();
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  const std::uint64_t to_run = allocations.load() - made;
  EXPECT_EQ(batcher.steps().size(), 8192U);
  EXPECT_LE(to_run, 30U);  // two captures, the host's state and log; not one of a step
}

}  // namespace
}  // namespace syncopate::batching

#endif
