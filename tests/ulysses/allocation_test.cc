// A steady pass allocates nothing. Counted by replacing operator new, which the sanitizers replace
// themselves: not built under them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "sim/sim_engine.h"
#include "tests/batching/counted_allocations.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

// Virtual time keeps its pools of operations in flight, which grow until each has held the largest.
constexpr std::uint32_t kWarm = 100;
constexpr std::uint32_t kPasses = 200;

/// Allocations of the process, seen by rank 0 after each of its passes.
std::vector<std::uint64_t> by_pass(std::unique_ptr<runtime::Engine> engine, Transport transport) {
  runtime::Runtime runtime(std::move(engine));
  const HeadChunkLayout layout({1, {3, 5}, 8, 4, 4, ElementType::kFp32, {1, 2, 1}});
  const HostAttention attention;
  std::vector<RankTensors> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto view = [&](Tensor tensor) {
      return TensorView{runtime.make_buffer(runtime::Device{rank}, runtime::Memory::kDevice,
                                            layout.bytes(tensor, rank), "tensor"),
                        layout.shape(tensor, rank)};
    };
    ranks.push_back(
        {runtime.make_stream(runtime::Device{rank}, runtime::StreamKind::kNonBlocking, "caller"),
         view(Tensor::kQ), view(Tensor::kK), view(Tensor::kV), view(Tensor::kOutput)});
  }
  UlyssesOptions options{StrategyKind::kChunkOverlap, 2};
  options.transport = transport;
  Ulysses ulysses(runtime, layout, attention, options, ranks);
  std::vector<std::uint64_t> seen;
  seen.reserve(kPasses);
  const auto main = [&](runtime::Host& host) {
    host.reserve(64 * kPasses, 256 * kPasses);
    for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
      ulysses.pass(host);
      host.synchronize(ranks[host.device().id].caller, "block");
      if (host.device().id == 0) seen.push_back(allocations.load());
    }
  };
  runtime.run(std::vector<runtime::HostMain>(2, main));
  return seen;
}

TEST(UlyssesAllocationTest, ASteadyPassInVirtualTimeAllocatesNothing) {
  for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
    const auto seen = by_pass(sim::make_sim_engine({}, {}, 2), transport);
    EXPECT_EQ(seen[kPasses - 1] - seen[kWarm], 0U) << to_string(transport);
  }
}

TEST(UlyssesAllocationTest, ASteadyPassOnThreadsAllocatesNothing) {
  for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
    const auto seen = by_pass(cpu::make_cpu_engine({}, 2), transport);
    EXPECT_EQ(seen[kPasses - 1] - seen[kWarm], 0U) << to_string(transport);
  }
}

}  // namespace
}  // namespace syncopate::ulysses

#endif
