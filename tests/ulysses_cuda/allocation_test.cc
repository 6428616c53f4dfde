// A steady pass on a device allocates nothing on the host, call by call or as a graph's launch.
#include <gtest/gtest.h>

#include <cstdint>

#include "backend/cuda/engine.h"
#include "backend/ulysses/cuda/device_attention.h"
#include "tests/cuda/device_test.h"
#include "tests/ulysses/steady_passes.h"

namespace syncopate::ulysses {
namespace {

constexpr std::uint32_t kWarmPasses = 60;
constexpr std::uint32_t kSteadyPasses = 120;

class DeviceAllocationTest : public syncopate::cuda::DeviceTest {};

TEST_F(DeviceAllocationTest, ASteadyPassAllocatesNothingOnTheHost) {
  const cuda::DeviceAttention attention(1);
  for (const StrategyKind strategy : {StrategyKind::kOrdinary, StrategyKind::kChunkOverlap}) {
    for (const bool graphs : {false, true}) {
      UlyssesOptions options;
      options.strategy = strategy;
      options.graphs = graphs;
      const auto seen = allocations_by_pass(
          syncopate::cuda::make_cuda_engine({.devices = 2, .gpus = 1}),
          {{1, {2048, 2048}, 56, 56, 128, ElementType::kBf16, {7, 14, 7}}, options, kSteadyPasses},
          attention);
      EXPECT_EQ(seen[kSteadyPasses - 1] - seen[kWarmPasses], 0U)
          << to_string(strategy) << (graphs ? ", graphs" : "");
    }
  }
}

}  // namespace
}  // namespace syncopate::ulysses
