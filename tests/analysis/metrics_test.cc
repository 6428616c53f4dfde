#include "analysis/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "analysis/error.h"
#include "analysis/intervals.h"

namespace syncopate::analysis {
namespace {

using runtime::CallType;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Position;
using runtime::Stream;
using runtime::Timeline;

struct Times {
  Nanos issue_end = 0;
  Nanos start = 0;
  Nanos end = 0;
};

/// A timeline of one device with three streams, and operations with times as given.
class MetricsTest : public ::testing::Test {
 protected:
  static constexpr Stream kH2d{0}, kCompute{1}, kOther{2};

  MetricsTest() { t.streams.resize(3); }

  void add(OperationKind kind, std::int32_t step, Stream stream, Times times) {
    Operation& op = t.operations.emplace_back();
    op.name = "op";
    op.kind = kind;
    op.step = step;
    op.stream = stream;
    op.issue_begin = op.issue_end = times.issue_end;
    op.start = times.start;
    op.end = times.end;
    if (!stream) return;
    runtime::Call& call = t.calls.emplace_back();
    call.operation = static_cast<std::uint32_t>(t.operations.size() - 1);
    call.at = {stream, ++sequences[stream.id]};
  }
  void wait(Stream stream, Position target) {
    runtime::Call& call = t.calls.emplace_back();
    call.type = CallType::kWait;
    call.at = {stream, ++sequences[stream.id]};
    call.target = target;
  }

  Timeline t;
  std::uint64_t sequences[3] = {};
};

TEST_F(MetricsTest, GapsInsideAStepCountAsDeviceActiveButNotAsKernelActive) {
  add(OperationKind::kCopyH2D, 0, kH2d, {0, 5, 10});
  add(OperationKind::kKernel, 0, kCompute, {0, 10, 20});
  add(OperationKind::kKernel, 0, kCompute, {0, 30, 40});
  add(OperationKind::kKernel, 1, kCompute, {0, 70, 80});
  t.end = 100;
  const Metrics m = measure(t);
  EXPECT_EQ(m.total_time, 100);
  EXPECT_EQ(m.device_active, 40);  // [10, 40) and [70, 80)
  EXPECT_EQ(m.kernel_active, 35);  // [5, 20), [30, 40), [70, 80)
  EXPECT_DOUBLE_EQ(m.device_active_pct(), 40.0);
  EXPECT_DOUBLE_EQ(m.kernel_active_pct(), 35.0);
}

TEST_F(MetricsTest, OverlappingStepsAndStreamsCountOnce) {
  add(OperationKind::kKernel, 0, kCompute, {0, 10, 50});
  add(OperationKind::kKernel, 1, kOther, {0, 40, 60});
  add(OperationKind::kKernel, runtime::kNoStep, kOther, {0, 60, 65});
  t.end = 100;
  EXPECT_EQ(measure(t).device_active, 55);
  EXPECT_EQ(measure(t).kernel_active, 55);
}

TEST_F(MetricsTest, AGraphCountsByItsNodesWhereTheyHaveTimes) {
  add(OperationKind::kGraph, 0, kCompute, {0, 10, 50});
  for (const auto& [start, end] : {std::pair<Nanos, Nanos>{10, 20}, {40, 50}}) {
    Operation node = t.operations[0];
    node.kind = OperationKind::kGraphNode;
    node.start = start;
    node.end = end;
    t.operations.push_back(node);
  }
  add(OperationKind::kGraph, 1, kCompute, {0, 60, 90});
  t.end = 100;
  EXPECT_EQ(measure(t).device_active, 70);
  EXPECT_EQ(measure(t).kernel_active, 50);  // 20 of nodes, 30 of a launch whose nodes are unseen
}

TEST_F(MetricsTest, TheHostIsBusyWhenItIsNotBlocked) {
  add(OperationKind::kHostBlock, 0, Stream{}, {0, 20, 50});
  add(OperationKind::kHostSpan, 0, Stream{}, {0, 50, 60});
  add(OperationKind::kHostSpan, 0, Stream{}, {0, 60, 65});
  add(OperationKind::kHostSpan, 1, Stream{}, {0, 65, 70});
  add(OperationKind::kKernel, 1, kCompute, {74, 80, 90});
  t.operations.back().issue_begin = 71;
  t.end = 100;
  const Metrics m = measure(t);
  EXPECT_EQ(m.host_busy, 70);
  EXPECT_EQ(m.host_time.count, 2);
  EXPECT_DOUBLE_EQ(m.host_time.mean, 11.5);  // 15 of spans; 5 of a span and 3 of a call
  EXPECT_EQ(m.host_time.max, 15);
}

TEST_F(MetricsTest, IdleTimeIsSplitByWhatHeldTheStepsFirstOperation) {
  add(OperationKind::kKernel, 0, kCompute, {3, 5, 100});  // host 3, launch 2
  add(OperationKind::kKernel, 0, kOther, {4, 100, 145});  // same step: [5, 145)
  add(OperationKind::kCopyH2D, 1, kH2d, {150, 152, 170});
  add(OperationKind::kKernel, 2, kH2d, {151, 300, 310});  // the step after next
  wait(kCompute, {kH2d, 1});
  add(OperationKind::kKernel, 1, kCompute, {160, 173, 200});  // host 15, copy 10, launch 3
  wait(kCompute, {kH2d, 2});
  add(OperationKind::kKernel, 3, kCompute, {250, 315, 320});  // starts after step 2's end: launch 5
  t.end = 330;
  const Metrics m = measure(t);
  // Step 2's own gap, [200, 300): issued long ago, behind the copy in its stream: all launch.
  EXPECT_EQ(m.idle,
            (IdleCauses{.host = 18, .copy = 10, .dependency = 0, .launch = 110, .drain = 10}));
  EXPECT_EQ(m.idle.total(), m.total_time - m.device_active);
}

TEST_F(MetricsTest, AWaitForAnotherStreamsWorkIsADependency) {
  add(OperationKind::kCopyD2H, 0, kOther, {0, 0, 40});
  wait(kCompute, {kOther, 1});
  add(OperationKind::kKernel, 1, kCompute, {10, 45, 60});
  t.end = 60;
  EXPECT_EQ(measure(t).idle, (IdleCauses{.host = 10, .copy = 0, .dependency = 30, .launch = 5}));
}

TEST_F(MetricsTest, StepTimesRunFromEndToEndOfDeviceActivity) {
  for (std::int32_t step = 0; step < 5; ++step) {
    const Nanos end = 100 * (step + 1) + (step == 3 ? 50 : 0);
    add(OperationKind::kKernel, step, kCompute, {0, end - 60, end});
  }
  t.end = 500;
  const auto& times = measure(t).step_time;  // 100, 100, 150, 50
  EXPECT_EQ(times.count, 4);
  EXPECT_DOUBLE_EQ(times.mean, 100.0);
  EXPECT_EQ(times.p50, 100);
  EXPECT_EQ(times.p99, 150);
}

TEST_F(MetricsTest, OnlyTheAskedDeviceCounts) {
  t.streams[2].device = 1;
  add(OperationKind::kKernel, 0, kCompute, {0, 0, 10});
  add(OperationKind::kKernel, 0, kOther, {0, 20, 50});
  t.end = 100;
  EXPECT_EQ(measure(t, 0).device_active, 10);
  EXPECT_EQ(measure(t, 1).device_active, 30);
}

TEST_F(MetricsTest, ARunThatDidNothingIsAllDrain) {
  t.end = 100;
  EXPECT_EQ(measure(t).idle.total(), 100);
  EXPECT_EQ(measure(Timeline{}).device_active_pct(), 0.0);
}

TEST_F(MetricsTest, AnUnknownStreamIsRefused) {
  add(OperationKind::kKernel, 0, kCompute, {0, 0, 10});
  t.operations[0].stream = Stream{7};
  EXPECT_THROW(measure(t), InvalidTimelineError);
}

TEST(Intervals, CoverWhatACountOfEveryNanosecondSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Interval> intervals(random() % 12);
    bool covered[64] = {};
    for (Interval& interval : intervals) {
      interval.begin = static_cast<Nanos>(random() % 50);
      interval.end = interval.begin + static_cast<Nanos>(random() % 12);
      for (Nanos at = interval.begin; at < interval.end; ++at) covered[at] = true;
    }
    merge(intervals);
    EXPECT_EQ(length(intervals), std::count(std::begin(covered), std::end(covered), true))
        << "seed " << seed;
  }
}

TEST_F(MetricsTest, IdleAndActiveTimeAddUpToTheTotalInRandomTimelines) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t n) { return static_cast<Nanos>(random() % n); };
    t = {};
    t.streams.resize(3);
    std::fill(std::begin(sequences), std::end(sequences), 0);
    t.end = 400;
    for (int i = 0; i < 12; ++i) {
      const Stream stream{static_cast<std::uint32_t>(below(3))};
      const Nanos start = below(300);
      add(below(3) == 0 ? OperationKind::kCopyH2D : OperationKind::kKernel,
          static_cast<std::int32_t>(below(4)), stream, {below(300), start, start + below(60)});
      const Stream target{static_cast<std::uint32_t>(below(3))};
      if (below(2) == 0) wait(stream, {target, sequences[target.id]});
    }
    const Metrics m = measure(t);
    EXPECT_EQ(m.device_active + m.idle.total(), 400) << "seed " << seed;
  }
}

TEST(Percentiles, AreTheNearestRank) {
  std::vector<int> values(100);
  for (int i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = i + 1;
  const std::span<const int> sorted(values);
  EXPECT_EQ(percentile(sorted, 7), 7);
  EXPECT_EQ(percentile(sorted, 50), 50);
  EXPECT_EQ(percentile(sorted, 99), 99);
  EXPECT_EQ(percentile(sorted, 99.5), 100);
  EXPECT_EQ(percentile(sorted.first(3), 50), 2);  // rank ceil(1.5) = 2
  EXPECT_EQ(percentile(sorted.first(1), 1), 1);
  EXPECT_EQ(percentile(sorted.first(0), 50), 0);
}

/// Against a sorted list, by the definition: the ceil(p/100 * n)-th smallest.
TEST(Percentiles, OfADistributionAreThoseOfItsSortedValues) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Weighted<int>> weighted(random() % 12);
    std::vector<int> values;
    for (Weighted<int>& each : weighted) {
      each = {static_cast<int>(random() % 20), random() % 7};
      values.insert(values.end(), each.count, each.value);
    }
    std::ranges::shuffle(values, random);
    std::vector<int> sorted = values;
    std::ranges::sort(sorted);
    const auto at = [&](std::size_t p) {
      return sorted.empty() ? 0 : sorted[(p * sorted.size() + 99) / 100 - 1];
    };
    double sum = 0;
    for (const int value : values) sum += value;
    for (const Distribution<int>& got : {distribution(values), distribution(weighted)}) {
      EXPECT_EQ(got.count, sorted.size());
      EXPECT_DOUBLE_EQ(got.mean, sorted.empty() ? 0 : sum / static_cast<double>(sorted.size()));
      EXPECT_EQ(got.p50, at(50));
      EXPECT_EQ(got.p90, at(90));
      EXPECT_EQ(got.p99, at(99));
      EXPECT_EQ(got.max, sorted.empty() ? 0 : sorted.back());
    }
  }
}

TEST(Percentiles, OfNoValuesAreZero) {
  const Distribution<double> none = distribution(std::vector<double>{});
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.p99, 0.0);
}

}  // namespace
}  // namespace syncopate::analysis
