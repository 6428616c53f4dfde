// How long a pass takes in virtual time, on a machine where only links and attention take any.
#include <gtest/gtest.h>

#include <cstdint>

#include "sim/sim_engine.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

/// 100 us for each head's attention over 10 tokens. For each head of 5 tokens that crosses a link
/// 10 us: 30 for Q, K and V, 10 for the output.
sim::HardwareProfile machine() {
  sim::HardwareProfile profile;
  profile.kernel(runtime::Work::kAttention).per_attention_kpair_us = 1000;
  profile.peer = {0, 8e-3};
  profile.d2d = profile.d2h = {0, 1e6};
  return profile;
}

std::int64_t microseconds(StrategyKind strategy, std::vector<std::uint32_t> schedule,
                          std::uint32_t slots = 0) {
  const Passes passes{
      {1, {5, 5}, 8, 8, 4, ElementType::kFp32, std::move(schedule)}, {strategy, slots}, 1};
  return make_passes(sim::make_sim_engine(machine(), {}, 2), passes).timeline.end / 1000;
}

TEST(UlyssesTimingTest, InOneStreamEverythingAddsUp) {
  constexpr std::int64_t kAll = 4 * (30 + 100 + 10);
  EXPECT_EQ(microseconds(StrategyKind::kOrdinary, {4}), kAll);
  EXPECT_EQ(microseconds(StrategyKind::kWholeFused, {4}), kAll);
  EXPECT_EQ(microseconds(StrategyKind::kChunkSequential, {1, 2, 1}), kAll);
}

TEST(UlyssesTimingTest, OverlapExposesTheFirstScatterAndTheLastGather) {
  EXPECT_EQ(microseconds(StrategyKind::kChunkOverlap, {1, 2, 1}), 30 + 400 + 10);
  EXPECT_EQ(microseconds(StrategyKind::kChunkOverlap, {2, 2}), 60 + 400 + 20);
  EXPECT_EQ(microseconds(StrategyKind::kChunkOverlap, {4}), 120 + 400 + 40);
}

// The next band lands while one is computed: a second slot is enough where attention takes longer.
// With one, its scatter comes after the attention, and meets that band's gather on the link.
TEST(UlyssesTimingTest, TwoSlotsHideWhatOneExposes) {
  EXPECT_EQ(microseconds(StrategyKind::kChunkOverlap, {1, 1, 1, 1}, 2), 30 + 400 + 10);
  EXPECT_EQ(microseconds(StrategyKind::kChunkOverlap, {1, 1, 1, 1}, 1), 4 * (30 + 100 + 10));
}

}  // namespace
}  // namespace syncopate::ulysses
