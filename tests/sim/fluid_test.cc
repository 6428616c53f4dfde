// Finishing times of kernels that share a device, by hand.

#include "sim/fluid.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace syncopate::sim {
namespace {

using runtime::Nanos;
using Ends = std::vector<std::pair<std::uint32_t, Nanos>>;

// Lets time run until all kernels have ended.
Ends run_out(Fluid& fluid) {
  Ends ends;
  while (fluid.next_end() != kNever) {
    const Nanos now = fluid.next_end();
    while (const auto task = fluid.take_ended(now)) ends.emplace_back(*task, now);
    while (fluid.take_started(now)) {
    }
  }
  return ends;
}

TEST(Fluid, AKernelAloneRunsForItsWork) {
  Fluid fluid;
  EXPECT_TRUE(fluid.submit(100, 7, {.sm = 1, .bandwidth = 1}, 50));
  EXPECT_EQ(run_out(fluid), (Ends{{7, 150}}));
}

TEST(Fluid, TwoKernelsThatNeedAllSMsTakeTwiceAsLong) {
  Fluid fluid;
  fluid.submit(0, 1, {.sm = 1}, 100);
  fluid.submit(0, 2, {.sm = 1}, 100);
  EXPECT_EQ(run_out(fluid), (Ends{{1, 200}, {2, 200}}));
}

TEST(Fluid, ALateComerSlowsWhatIsLeft) {
  Fluid fluid;
  fluid.submit(0, 1, {.sm = 1}, 100);
  EXPECT_EQ(fluid.next_end(), 100);
  fluid.submit(40, 2, {.sm = 1}, 30);
  // From 40 both at 1/2: 2 ends at 100, when 1 has 30 left and goes on at full rate.
  EXPECT_EQ(run_out(fluid), (Ends{{2, 100}, {1, 130}}));
}

TEST(Fluid, DemandsThatFitDoNotSlowEachOther) {
  Fluid fluid;
  fluid.submit(0, 1, {.sm = 0.6, .bandwidth = 0.2}, 100);
  fluid.submit(0, 2, {.sm = 0.4, .bandwidth = 0.8}, 70);
  EXPECT_EQ(run_out(fluid), (Ends{{2, 70}, {1, 100}}));
}

TEST(Fluid, TheScarcestResourceThatAKernelUsesSetsItsRate) {
  Fluid fluid;
  fluid.submit(0, 1, {.sm = 0.25, .bandwidth = 1}, 100);    // bandwidth 1.25: rate 0.8
  fluid.submit(0, 2, {.sm = 0.25, .bandwidth = 0.25}, 80);  // rate 0.8
  fluid.submit(0, 3, {.sm = 0.25}, 60);                     // SMs 0.75: rate 1
  // 3 ends at 60. 2 ends at 100, when 1 has done 80; alone, it needs 20 more.
  EXPECT_EQ(run_out(fluid), (Ends{{3, 60}, {2, 100}, {1, 120}}));
}

TEST(Fluid, AKernelThatHoldsAllSlotsLetsNoOtherStart) {
  Fluid fluid;
  EXPECT_TRUE(fluid.submit(0, 1, {.sm = 0.1, .holds = 1}, 100));
  EXPECT_FALSE(fluid.submit(10, 2, {.sm = 0.1, .holds = 0.1}, 20));
  EXPECT_FALSE(fluid.submit(10, 3, {.sm = 0.1}, 20));  // needs no slot, but keeps its turn
  EXPECT_EQ(run_out(fluid), (Ends{{1, 100}, {2, 120}, {3, 120}}));
}

TEST(Fluid, SlotsAreGivenInTheOrderOfAsking) {
  Fluid fluid;
  EXPECT_TRUE(fluid.submit(0, 1, {.holds = 0.6}, 100));
  EXPECT_FALSE(fluid.submit(0, 2, {.holds = 0.5}, 100));
  EXPECT_FALSE(fluid.submit(0, 3, {.holds = 0.4}, 100));  // would fit, but is behind 2
  EXPECT_EQ(run_out(fluid), (Ends{{1, 100}, {2, 200}, {3, 200}}));
}

TEST(Fluid, TenTenthsFillTheSlotsExactly) {
  Fluid fluid;
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(fluid.submit(0, i, {.holds = 0.1}, 100)) << i;
  }
  EXPECT_FALSE(fluid.submit(0, 10, {.holds = 0.1}, 100));
}

TEST(Fluid, KernelsWithoutWorkEndAtOnce) {
  Fluid fluid;
  fluid.submit(0, 1, {.sm = 1}, 100);
  EXPECT_EQ(fluid.next_end(), 100);
  fluid.submit(50, 2, {.sm = 1}, 0);
  EXPECT_EQ(run_out(fluid), (Ends{{2, 50}, {1, 100}}));
}

}  // namespace
}  // namespace syncopate::sim
