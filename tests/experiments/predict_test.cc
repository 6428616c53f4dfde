// What two times of a step say of asynchronous batching, against the formulas.
#include "experiments/predict/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/runtime/error.h"

namespace syncopate::experiments {
namespace {

/// Of 4,096 steps the first has nothing to overlap with: at most one half more in all of them.
constexpr double kEdge = 1.0 / 4096;

TEST(Predict, OrderedIsTheSumAndAsyncTheLongerHalf) {
  for (const auto& [host, device] : {std::pair{2.41, 7.63}, {8.8, 5.2}, {3.0, 3.0}, {0.0, 4.0}}) {
    const auto rows = predict_strategies({.host_ms = host, .device_ms = device});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_FALSE(rows[0].async);
    EXPECT_NEAR(rows[0].step_ms, host + device, (host + device) * kEdge);
    EXPECT_NEAR(rows[0].device_active_pct, 100 * device / (host + device), 0.05);
    for (const std::uint32_t slots : {2U, 3U}) {
      const Prediction& row = rows[slots - 1];
      EXPECT_TRUE(row.async);
      EXPECT_EQ(row.slots, slots);
      EXPECT_NEAR(row.step_ms, std::max(host, device), (host + device) * kEdge) << slots;
      EXPECT_NEAR(row.device_active_pct, 100 * device / std::max(host, device), 0.05);
    }
  }
}

TEST(Predict, GraphsTakeTheLaunchesFromTheHost) {
  const auto rows = predict_strategies({.host_ms = 6, .device_ms = 4, .launch_ms = 5});
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_NEAR(rows[1].step_ms, 6, 10 * kEdge);
  EXPECT_TRUE(rows[3].graphs);
  EXPECT_NEAR(rows[3].step_ms, 1 + 4, 10 * kEdge);
  EXPECT_NEAR(rows[4].step_ms, 4, 10 * kEdge);
}

// With halves of the same mean that vary, two slots lose time at every step whose halves differ,
// and a third gives back some of it; the ordered step is the mean sum.
TEST(Predict, SlotsAbsorbWhatVaries) {
  const auto rows = predict_strategies({.host_ms = 5, .device_ms = 5, .jitter = 0.6});
  EXPECT_NEAR(rows[0].step_ms, 10, 0.15);  // its standard error: 10 * 0.6 / sqrt(6 * 4096) = 0.04
  // Two draws u, v from 2 to 8: E max(u, v) = 2 + 6 * 2 / 3.
  EXPECT_LT(rows[1].step_ms, 6.15);
  EXPECT_GT(rows[1].step_ms, 5.1);
  EXPECT_LT(rows[2].step_ms, rows[1].step_ms);
  EXPECT_GT(rows[2].step_ms, 4.9);
}

TEST(Predict, WhatIsNoStepIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const StepHalves& wrong : {StepHalves{-1, 1}, StepHalves{1, -1}, StepHalves{0, 0},
                                  StepHalves{nan, 1}, StepHalves{1, 20'000}, StepHalves{1, 1, 2},
                                  StepHalves{1, 1, 0, 1}, StepHalves{1, 1, 0, nan}}) {
    EXPECT_THROW(predict_strategies(wrong), runtime::UsageError);
  }
}

}  // namespace
}  // namespace syncopate::experiments
