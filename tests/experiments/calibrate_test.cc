// The calibrator on a machine whose profile is known: virtual time. Everything that it measures
// goes through the seam, so it must find the figures that the machine was made of.
#include "experiments/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include "backend/models/hash/hash_model.h"
#include "backend/runtime/error.h"
#include "experiments/calibrate/steps.h"
#include "sim/sim_engine.h"

namespace syncopate::experiments {
namespace {

using runtime::Work;

/// Of the largest request to serve.
constexpr std::uint64_t kEntries = 120;
constexpr models::BatchLimits kLimits{
    .rows = 6, .tokens = 96, .pages_per_row = 0, .page_tokens = 8, .pages = 120};

sim::HardwareProfile known() {
  sim::HardwareProfile p;
  p.host = {.kernel_launch_us = 3.5,
            .graph_launch_us = 1.6,
            .graph_launch_per_node_us = 0.25,
            .copy_us = 1.25,
            .record_us = 0.5,
            .wait_us = 0.75,
            .signal_us = 1.1,
            .query_us = 0.4,
            .synchronize_us = 0.6,
            .wake_us = 12};
  p.launch = {.latency_us = 7, .handover_us = 31, .queue_depth = 1024};
  p.graph = {.start_latency_us = 4, .node_gap_us = 0.9};
  p.kernel(Work::kForward) = {.base_us = 2'500,
                              .per_row_us = 40,
                              .per_token_us = 150,
                              .per_kv_ktoken_us = 900,
                              .per_attention_kpair_us = 300,
                              .after_pause_us = 600,
                              .pause_us = 2'000};
  p.kernel(Work::kCarry) = {.base_us = 3, .per_row_us = 0.5};
  p.kernel(Work::kNone) = {.base_us = 1.5};
  p.span(Work::kPrepare) = {.base_us = 9, .per_row_us = 0.7, .per_changed_row_us = 2};
  p.span(Work::kUpdate) = {.base_us = 5, .per_row_us = 0.3};
  p.h2d = {.latency_us = 8, .gb_per_s = 50};
  p.d2h = {.latency_us = 6, .gb_per_s = 40};
  p.d2d = {.latency_us = 2, .gb_per_s = 900};
  p.pageable = {.latency_us = 5, .gb_per_s = 10};
  return p;
}

/// A hundredth, or the nanosecond to which virtual time rounds.
void expect_near(double found, double is, const char* what) {
  EXPECT_NEAR(found, is, std::max(0.01 * is, 0.001)) << what;
}

class CalibrationOfVirtualTime : public testing::Test {
 protected:
  static Calibration of(const sim::HardwareProfile& profile) {
    const models::hash::HashModel model({.vocab = 64, .max_positions = 4096, .seed = 1});
    std::uint64_t seed = 0;  // jitter differs from run to run, as on a real machine
    const EngineFactory make_engine = [&] {
      return sim::make_sim_engine(profile, {.effects = false, .seed = ++seed}, 1);
    };
    return calibrate(make_engine, model, kLimits, kEntries, [](const char*, double) {});
  }
};

TEST_F(CalibrationOfVirtualTime, FindsTheProfileThatTheMachineWasMadeOf) {
  const sim::HardwareProfile is = known();
  const Calibration calibration = of(is);
  const sim::HardwareProfile& found = calibration.profile;

  expect_near(found.host.kernel_launch_us, is.host.kernel_launch_us, "kernel_launch");
  expect_near(found.host.graph_launch_us, is.host.graph_launch_us, "graph_launch");
  expect_near(found.host.graph_launch_per_node_us, is.host.graph_launch_per_node_us, "per node");
  expect_near(found.host.copy_us, is.host.copy_us, "copy");
  expect_near(found.host.record_us, is.host.record_us, "record");
  expect_near(found.host.wait_us, is.host.wait_us, "wait");
  expect_near(found.host.signal_us, is.host.signal_us, "signal");
  expect_near(found.host.query_us, is.host.query_us, "query");
  expect_near(found.host.synchronize_us, is.host.synchronize_us, "synchronize");
  expect_near(found.host.wake_us, is.host.wake_us, "wake");
  expect_near(found.launch.latency_us, is.launch.latency_us, "latency");
  expect_near(found.launch.handover_us, is.launch.handover_us, "handover");
  expect_near(found.graph.start_latency_us, is.graph.start_latency_us, "start_latency");
  expect_near(found.graph.node_gap_us, is.graph.node_gap_us, "node_gap");
  for (const Work work : {Work::kForward, Work::kCarry, Work::kNone}) {
    SCOPED_TRACE(static_cast<int>(work));
    expect_near(found.kernel(work).base_us, is.kernel(work).base_us, "base");
    expect_near(found.kernel(work).per_row_us, is.kernel(work).per_row_us, "per_row");
    expect_near(found.kernel(work).per_token_us, is.kernel(work).per_token_us, "per_token");
    expect_near(found.kernel(work).per_kv_ktoken_us, is.kernel(work).per_kv_ktoken_us, "kv");
    expect_near(found.kernel(work).per_attention_kpair_us, is.kernel(work).per_attention_kpair_us,
                "pairs");
    expect_near(found.kernel(work).after_pause_us, is.kernel(work).after_pause_us, "after pause");
    expect_near(found.kernel(work).pause_us, is.kernel(work).pause_us, "pause");
  }
  for (const Work work : {Work::kPrepare, Work::kUpdate}) {
    SCOPED_TRACE(static_cast<int>(work));
    expect_near(found.span(work).base_us, is.span(work).base_us, "base");
    expect_near(found.span(work).per_row_us, is.span(work).per_row_us, "per_row");
    expect_near(found.span(work).per_changed_row_us, is.span(work).per_changed_row_us, "changed");
  }
  const std::pair<sim::CopyCost, sim::CopyCost> copies[] = {
      {found.h2d, is.h2d}, {found.d2h, is.d2h}, {found.d2d, is.d2d}, {found.pageable, is.pageable}};
  for (const auto& [cost, known] : copies) {
    expect_near(cost.latency_us, known.latency_us, "latency");
    expect_near(cost.gb_per_s, known.gb_per_s, "throughput");
  }
  EXPECT_LT(calibration.fits.forward.p95_error_pct, 0.01);
  EXPECT_LT(calibration.fits.prepare.p95_error_pct, 0.1);
}

TEST_F(CalibrationOfVirtualTime, IsNotThrownOffByJitter) {
  sim::HardwareProfile is = known();
  is.jitter = 0.1;
  const Calibration calibration = of(is);
  const sim::KernelCost& forward = calibration.profile.kernel(Work::kForward);
  EXPECT_NEAR(forward.base_us, 2'500, 125);
  EXPECT_NEAR(forward.per_token_us, 150, 15);
  EXPECT_NEAR(calibration.profile.span(Work::kUpdate).base_us, 5, 0.5);
  EXPECT_LT(calibration.fits.forward.median_error_pct, 10);
}

TEST_F(CalibrationOfVirtualTime, SaysForWhichStepsItHolds) {
  const Calibration calibration = of(known());
  EXPECT_EQ(calibration.ranges.rows, 6U);
  EXPECT_GE(calibration.ranges.tokens, 80U);  // of 96; 120 pages leave prompts of 80 at most
  // All rows with as many entries as the largest request to serve comes to.
  EXPECT_GE(calibration.ranges.kv_tokens, kLimits.rows * kEntries);
}

TEST_F(CalibrationOfVirtualTime, FindsNoPauseWhereNoneCounts) {
  sim::HardwareProfile is = known();
  is.kernel(Work::kForward).after_pause_us = 0;
  is.kernel(Work::kForward).pause_us = 0;
  const sim::KernelCost forward = of(is).profile.kernel(Work::kForward);
  EXPECT_LT(forward.after_pause_us, 1);
  EXPECT_NEAR(forward.base_us, 2'500, 25);
}

TEST(CalibrationRequests, FillStepsToTheLimit) {
  const models::hash::HashModel model({.vocab = 64, .max_positions = 4096, .seed = 1});
  std::size_t longest = 0;
  for (const batching::Request& request : calibration_requests(kLimits, model, kEntries)) {
    longest = std::max(longest, request.prompt.size());
    EXPECT_TRUE(request.eos.empty());
    EXPECT_LE(request.prompt.size() + request.max_new_tokens, 160U);  // pages for all rows at once
  }
  EXPECT_EQ(longest, 80U);
}

TEST(CalibrationRequests, AreRefusedWhereThereIsNoRoom) {
  const models::hash::HashModel model({.vocab = 64, .max_positions = 4096, .seed = 1});
  models::BatchLimits limits = kLimits;
  limits.tokens = limits.rows;
  EXPECT_THROW(calibration_requests(limits, model, kEntries), runtime::UsageError);
  limits = kLimits;
  limits.pages = 5;
  EXPECT_THROW(calibration_requests(limits, model, kEntries), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::experiments
