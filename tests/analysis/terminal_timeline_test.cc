#include "analysis/terminal_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/error.h"

namespace syncopate::analysis {
namespace {

using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Stream;
using runtime::Timeline;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Stream kH2d{0}, kCompute{1}, kD2h{2};
constexpr Nanos kMs = 1'000'000;

void add(Timeline& t, OperationKind kind, std::int32_t step, Stream stream, double start_ms,
         double end_ms) {
  Operation& op = t.operations.emplace_back();
  op.name = "op";
  op.kind = kind;
  op.step = step;
  op.stream = stream;
  op.start = static_cast<Nanos>(start_ms * kMs);
  op.end = static_cast<Nanos>(end_ms * kMs);
}

/// Two synchronous steps of 20 ms: 4 ms of host work, 0.1 ms up, 12 ms of compute, 0.1 ms down, and
/// the host blocked until then; 2 ms of host work after it. The first is step 7, at 100 ms.
Timeline two_steps() {
  Timeline t;
  t.streams = {{"h2d", {}, 0}, {"compute", {}, 0}, {"d2h", {}, 0}, {"unused", {}, 0}};
  for (int i = 0; i < 2; ++i) {
    const double at = 100 + 20 * i;
    add(t, OperationKind::kHostSpan, 7 + i, {}, at, at + 4);
    add(t, OperationKind::kCopyH2D, 7 + i, kH2d, at + 5, at + 5.1);
    t.operations.back().issue_begin = static_cast<Nanos>((at + 4) * kMs);
    t.operations.back().issue_end = static_cast<Nanos>((at + 5) * kMs);
    add(t, OperationKind::kGraph, 7 + i, kCompute, at + 5.2, at + 17.2);
    add(t, OperationKind::kGraphNode, 7 + i, kCompute, at + 5.2, at + 17.2);
    add(t, OperationKind::kCopyD2H, 7 + i, kD2h, at + 17.3, at + 17.4);
    add(t, OperationKind::kHostBlock, 7 + i, {}, at + 5, at + 17.5);
    add(t, OperationKind::kHostSpan, 7 + i, {}, at + 17.5, at + 19.5);
  }
  t.end = 140 * kMs;
  return t;
}

// 39.5 ms on 40 columns less the labels' 8: a column is 1.234 ms.
TEST(TerminalTimeline, DrawsEachRowInItsPlace) {
  EXPECT_THAT(draw_timeline(two_steps(), {7, 8}, {.width = 40, .colour = false}),
              ElementsAre("steps 7 to 8: 39.5 ms from 100 ms on",      //
                          "host    #7#+~~~~7~~~~~##|8#+~~~~8~~~~~##",  //
                          "h2d     ....>...............>...........",  //
                          "compute ....====7=====......====8=====..",  //
                          "d2h     ..............<...............<.",  //
                          "        |0 ms           |20",               //
                          "        . idle  # host work  + call",       //
                          "        ~ host blocked  > h2d  = compute",  //
                          "        < d2h"));
}

// 79 columns of half a millisecond.
TEST(TerminalTimeline, UsesTheWidthThatItHas) {
  EXPECT_THAT(
      draw_timeline(two_steps(), {7, 8}, {.width = 87, .colour = false}),
      ElementsAre(
          "steps 7 to 8: 39.5 ms from 100 ms on",
          "host    ###7####++~~~~~~~~~~~~7~~~~~~~~~~~~#7##.###8####++~~~~~~~~~~~~8~~~~~~~~~~~~#8##",
          "h2d     ..........>.......................................>............................",
          "compute ..........===========7============................===========8============.....",
          "d2h     ...................................<.......................................<...",
          "        |0 ms               |10                 |20                 |30",
          "        . idle  # host work  + call  ~ host blocked  > h2d  = compute  < d2h"));
}

TEST(TerminalTimeline, DrawsWhatReachesIntoItsTimeButNotWhatOnlyTouchesIt) {
  Timeline t;
  t.streams = {{"s", {}, 0}, {"u", {}, 0}};
  add(t, OperationKind::kKernel, 5, Stream{0}, 20, 40);
  add(t, OperationKind::kKernel, 4, Stream{1}, 10, 20);
  add(t, OperationKind::kKernel, 4, Stream{1}, 20, 30);
  add(t, OperationKind::kKernel, 6, Stream{1}, 40, 50);
  const auto lines = draw_timeline(t, {5, 5}, {.width = 25, .colour = false});
  EXPECT_EQ(lines[2], "s    =========5==========");
  EXPECT_EQ(lines[3], "u    ====4=====..........");
}

TEST(TerminalTimeline, NoLineIsLongerThanTheWidth) {
  for (std::size_t width = 24; width < 200; ++width) {
    for (const std::string& line : draw_timeline(two_steps(), {7, 8}, {width, false})) {
      EXPECT_LE(line.size(), width) << line;
    }
  }
}

TEST(TerminalTimeline, WhatIsShorterThanAColumnStaysVisible) {
  Timeline t;
  t.streams = {{"default", {}, 0}};
  add(t, OperationKind::kKernel, 0, Stream{0}, 0, 1000);
  add(t, OperationKind::kCopyD2H, 0, Stream{0}, 500, 500.001);
  add(t, OperationKind::kCopyH2D, 0, Stream{0}, 1000, 1000);
  const auto lines = draw_timeline(t, {0, 0}, {.width = 28, .colour = false});
  EXPECT_EQ(lines[2], "default =========0<========>");
}

TEST(TerminalTimeline, ShowsHostWorkRatherThanACallInTheSameColumn) {
  Timeline t;
  t.streams = {{"s", {}, 0}};
  add(t, OperationKind::kHostSpan, 0, {}, 50, 50.002);
  add(t, OperationKind::kKernel, 0, Stream{0}, 0, 100);
  t.operations.back().issue_begin = 50 * kMs;
  t.operations.back().issue_end = 50 * kMs + 1000;
  EXPECT_THAT(draw_timeline(t, {0, 0}, {.width = 24, .colour = false})[1], HasSubstr(".#."));
}

TEST(TerminalTimeline, ColoursTakeNoColumns) {
  const auto plain = draw_timeline(two_steps(), {7, 8}, {.width = 60, .colour = false});
  auto coloured = draw_timeline(two_steps(), {7, 8}, {.width = 60, .colour = true});
  ASSERT_EQ(plain.size(), coloured.size());
  bool any = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    std::string& line = coloured[i];
    for (std::size_t at; (at = line.find('\033')) != std::string::npos; any = true) {
      line.erase(at, line.find('m', at) + 1 - at);
    }
    EXPECT_EQ(line, plain[i]);
  }
  EXPECT_TRUE(any);
}

TEST(TerminalTimeline, NumbersHostsAndStreamsWhereThereAreSeveral) {
  Timeline t;
  t.hosts = 2;
  t.streams = {{"s", {}, 0}, {"s", {}, 1}};
  add(t, OperationKind::kKernel, 0, Stream{0}, 0, 8);
  add(t, OperationKind::kKernel, 0, Stream{1}, 8, 16);
  t.operations.back().host = 1;
  const auto lines = draw_timeline(t, {0, 0}, {.width = 24, .colour = false});
  EXPECT_EQ(lines[1], "host 0 " + std::string(17, '.'));
  EXPECT_EQ(lines[2], "s 0    ====0====........");
  EXPECT_EQ(lines[3], "host 1 " + std::string(17, '.'));
  EXPECT_EQ(lines[4], "s 1    .........===0====");
}

TEST(TerminalTimeline, LeavesOutWhatHasNoKnownTime) {
  Timeline t = two_steps();
  add(t, OperationKind::kKernel, 7, Stream{3}, 0, 0);
  t.operations.back().start = t.operations.back().end = runtime::kUnknownTime;
  EXPECT_EQ(draw_timeline(t, {7, 8}, {}), draw_timeline(two_steps(), {7, 8}, {}));
}

TEST(TerminalTimeline, RefusesStepsAndStreamsThatAreNotThere) {
  Timeline t = two_steps();
  EXPECT_THROW(draw_timeline(t, {9, 12}, {}), InvalidTimelineError);
  add(t, OperationKind::kKernel, 7, Stream{4}, 0, 1);
  EXPECT_THROW(draw_timeline(t, {7, 8}, {}), InvalidTimelineError);
}

TEST(MiddleSteps, LieInTheMiddleAndAreFewerWhereThereAreFewer) {
  Timeline t;
  t.streams = {{"s", {}, 0}};
  EXPECT_EQ(middle_steps(t, 3), std::nullopt);
  for (int step = 0; step < 10; ++step) {
    add(t, OperationKind::kKernel, step, Stream{0}, step, step + 1);
  }
  EXPECT_EQ(middle_steps(t, 3), (StepRange{3, 5}));
  EXPECT_EQ(middle_steps(t, 4), (StepRange{3, 6}));
  EXPECT_EQ(middle_steps(t, 20), (StepRange{0, 9}));
}

}  // namespace
}  // namespace syncopate::analysis
