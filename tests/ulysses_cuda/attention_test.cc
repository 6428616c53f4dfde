// What attention on a device refuses, and what it launches.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backend/ulysses/error.h"
#include "tests/cuda/device_test.h"
#include "tests/ulysses_cuda/device_passes.h"

namespace syncopate::ulysses {
namespace {

using runtime::Activity;
using runtime::ActivityKind;

class DeviceAttentionTest : public syncopate::cuda::DeviceTest {};

TEST_F(DeviceAttentionTest, HeadsThatNoKernelTakesAreRefused) {
  AttentionBand band;
  band.head_dim = 264;
  EXPECT_THROW(cuda::DeviceAttention(1).check(band), UlyssesError);
}

// No packing, no copy of an output: one kernel a band, and no other kernel in a pass.
TEST_F(DeviceAttentionTest, ABandIsOneKernelAndNoOtherRunsInAPass) {
  if (const std::string missing = syncopate::cuda::activities_missing(); !missing.empty()) {
    GTEST_SKIP() << "skipped: " << missing;
  }
  const Passes passes{
      {1, {64, 64}, 8, 8, 128, ElementType::kBf16, {1, 2, 1}}, {StrategyKind::kChunkOverlap}, 3};
  const PassesOutcome outcome =
      make_device_passes(passes, cuda::DeviceAttention(1), 1, syncopate::cuda::ActivityOptions{});
  ASSERT_TRUE(outcome.timeline.activities);
  std::map<std::string, int> kernels;
  int all = 0;
  for (const Activity& activity : outcome.timeline.activities->records) {
    if (activity.kind != ActivityKind::kKernel) continue;
    ++kernels[activity.name];
    ++all;
  }
  std::string names;
  for (const auto& [name, count] : kernels) names += name + ": " + std::to_string(count) + "\n";
  EXPECT_EQ(all, 2 * 3 * 3) << names;  // ranks, bands, passes
}

TEST_F(DeviceAttentionTest, AShapeIsBuiltOnceAndABandThatWasNotPreparedIsAnError) {
  const cuda::DeviceAttention attention(1);
  const HeadChunkLayout layout({1, {128}, 8, 8, 64, ElementType::kFp16, {2, 4, 2}});
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t band = 0; band < 3; ++band) {
      attention.prepare(attention_band(layout, 0, band, false), runtime::Device{0});
    }
  }
  EXPECT_EQ(attention.plans(), 2U);  // bands of 2 heads and of 4
}

}  // namespace
}  // namespace syncopate::ulysses
