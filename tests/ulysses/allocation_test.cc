// A steady pass allocates nothing. Counted by replacing operator new, which the sanitizers replace
// themselves: not built under them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "backend/ulysses/host_attention.h"
#include "sim/sim_engine.h"
#include "tests/ulysses/steady_passes.h"

namespace syncopate::ulysses {
namespace {

// Virtual time keeps its pools of operations in flight, which grow until each has held the largest.
constexpr std::uint32_t kWarm = 100;
constexpr std::uint32_t kPasses = 200;

std::vector<std::uint64_t> by_pass(std::unique_ptr<runtime::Engine> engine, Transport transport,
                                   bool graphs) {
  UlyssesOptions options{StrategyKind::kChunkOverlap, 2};
  options.transport = transport;
  options.graphs = graphs;
  return allocations_by_pass(
      std::move(engine), {{1, {3, 5}, 8, 4, 4, ElementType::kFp32, {1, 2, 1}}, options, kPasses},
      HostAttention());
}

TEST(UlyssesAllocationTest, ASteadyPassInVirtualTimeAllocatesNothing) {
  for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
    for (const bool graphs : {false, true}) {
      const auto seen = by_pass(sim::make_sim_engine({}, {}, 2), transport, graphs);
      EXPECT_EQ(seen[kPasses - 1] - seen[kWarm], 0U) << to_string(transport) << graphs;
    }
  }
}

TEST(UlyssesAllocationTest, ASteadyPassOnThreadsAllocatesNothing) {
  for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
    for (const bool graphs : {false, true}) {
      const auto seen = by_pass(cpu::make_cpu_engine({}, 2), transport, graphs);
      EXPECT_EQ(seen[kPasses - 1] - seen[kWarm], 0U) << to_string(transport) << graphs;
    }
  }
}

}  // namespace
}  // namespace syncopate::ulysses

#endif
