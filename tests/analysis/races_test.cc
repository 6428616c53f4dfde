// The rules of happens-before, one hand-made timeline each.
#include "analysis/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/error.h"
#include "tests/analysis/program.h"

namespace syncopate::analysis {
namespace {

using runtime::NodeType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Each race in short, as "WAR x reader->writer".
std::vector<std::string> races_of(const Program& program) {
  const runtime::Timeline timeline = program.timeline();
  std::vector<std::string> found;
  for (const Race& race : find_races(timeline)) {
    found.push_back(
        std::string(to_string(race.hazard)) + " " + timeline.buffers[race.buffer.id].label + " " +
        timeline.operations[race.earlier].name + "->" + timeline.operations[race.later].name);
  }
  return found;
}

GraphNodeInfo node(const char* name, std::uint16_t lane, std::vector<std::uint16_t> after) {
  GraphNodeInfo info;
  info.name = name;
  info.lane = lane;
  info.after = std::move(after);
  return info;
}
GraphNodeInfo flag_node(NodeType type, std::uint16_t lane, std::vector<std::uint16_t> after,
                        Flag flag, std::uint64_t value) {
  GraphNodeInfo info = node("flag node", lane, std::move(after));
  info.type = type;
  info.flag = flag;
  info.value = value;
  return info;
}

struct TwoStreams : ::testing::Test {
  Program p;
  Stream s = p.stream("s"), t = p.stream("t");
  Buffer x = p.buffer("x"), y = p.buffer("y");
  Event event{0}, other_event{1};
};
using StreamOrder = TwoStreams;
using EventOrder = TwoStreams;
using HostOrder = TwoStreams;
using Ranges = TwoStreams;
using GraphOrder = TwoStreams;
using Reports = TwoStreams;

TEST_F(StreamOrder, OneStreamRunsInOrder) {
  p.launch(s, "write", {write(x, 0, 8)});
  p.launch(s, "read", {read(x, 0, 8)});
  p.launch(s, "write again", {write(x, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(StreamOrder, TwoStreamsHaveNoOrderAndEachHazardHasItsName) {
  p.launch(s, "a", {write(x, 0, 8), read(y, 0, 8)});
  p.launch(t, "b", {read(x, 0, 8), write(y, 0, 8)});
  p.launch(t, "c", {write(x, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW x a->b", "WAR y a->b", "WAW x a->c"));
}

TEST_F(StreamOrder, TwoReadsAreNoRace) {
  p.launch(s, "a", {read(x, 0, 8)});
  p.launch(t, "b", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(EventOrder, RecordAndWaitOrderTwoStreams) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.record(event, s);
  p.wait(t, event);
  p.launch(t, "b", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(EventOrder, WorkBehindTheRecordIsNotCovered) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.record(event, s);
  p.launch(s, "late", {write(y, 0, 8)});
  p.wait(t, event);
  p.launch(t, "b", {read(x, 0, 8), read(y, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW y late->b"));
}

TEST_F(EventOrder, AWaitBindsToTheNewestRecordAtItsCall) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.record(event, s);
  p.launch(s, "b", {write(y, 0, 8)});
  p.record(event, s);  // moves the event: this wait covers both
  p.wait(t, event);
  p.launch(t, "c", {read(x, 0, 8), read(y, 0, 8)});
  p.launch(s, "d", {write(y, 0, 8)});
  p.record(event, s);  // too late for the wait above
  p.launch(t, "e", {read(y, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("WAR y c->d", "RAW y d->e"));
}

TEST_F(EventOrder, AWaitOnANeverRecordedEventOrdersNothing) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.wait(t, event);
  p.record(event, s);
  p.launch(t, "b", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW x a->b"));
}

TEST_F(EventOrder, OrderIsTransitiveOverAThirdStream) {
  const Stream u = p.stream("u");
  p.launch(s, "a", {write(x, 0, 8)});
  p.record(event, s);
  p.wait(u, event);
  p.record(other_event, u);
  p.wait(t, other_event);
  p.launch(t, "b", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(EventOrder, ImplicitWaitsOfTheDefaultStreamCount) {
  const Stream standard = p.stream("default");
  p.launch(s, "a", {write(x, 0, 8)});
  p.wait(standard, p.end_of(s), /*implicit=*/true);
  p.launch(standard, "b", {read(x, 0, 8), write(y, 0, 8)});
  p.wait(t, p.end_of(standard), /*implicit=*/true);
  p.launch(t, "c", {write(x, 0, 8), read(y, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(HostOrder, ACopyComesAfterTheSpansBeforeItAndNotAfterThoseBehindIt) {
  p.span("fill", {write(x, 0, 8)});
  p.launch(s, "h2d", {read(x, 0, 8)}, OperationKind::kCopyH2D);
  EXPECT_THAT(races_of(p), IsEmpty());
  p.span("refill", {write(x, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("WAR x h2d->refill"));
}

TEST_F(HostOrder, ABlockOrTheSightOfAnEventPutsTheHostAfterIt) {
  p.launch(s, "d2h", {write(x, 0, 8)}, OperationKind::kCopyD2H);
  p.record(event, s);
  p.launch(t, "d2h 2", {write(y, 0, 8)}, OperationKind::kCopyD2H);
  p.record(other_event, t);
  p.block(event);
  p.span("use x", {read(x, 0, 8)});
  p.span("use y", {read(y, 0, 8)});
  p.see(other_event);
  p.span("use y seen", {read(y, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW y d2h 2->use y"));
}

TEST_F(HostOrder, WhatTheHostHasSeenOrdersTheWorkThatItEnqueuesThen) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.block(p.end_of(s));
  p.launch(t, "b", {write(x, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(Ranges, ThatTouchDoNotOverlap) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.launch(t, "b", {write(x, 8, 16), write(y, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(Ranges, ThatAreEmptyTouchNothing) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.launch(t, "b", {write(x, 4, 4)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(Ranges, AreReportedAsTheirOverlap) {
  p.launch(s, "a", {write(x, 0, 12)});
  p.launch(t, "b", {read(x, 8, 20)});
  const std::vector<Race> races = find_races(p.timeline());
  ASSERT_EQ(races.size(), 1);
  EXPECT_EQ(races[0].begin, 8);
  EXPECT_EQ(races[0].end, 12);
}

TEST_F(Ranges, OfOnePairOfOperationsMakeOneRace) {
  p.launch(s, "a", {write(x, 0, 100)});
  p.launch(t, "b", {read(x, 0, 4), read(x, 8, 12), read(x, 20, 24)});
  const std::vector<Race> races = find_races(p.timeline());
  ASSERT_EQ(races.size(), 1);
  EXPECT_EQ(races[0].ranges, 3);
  EXPECT_EQ(races[0].end, 4);
}

TEST_F(Ranges, ColumnsOfOneTensorThatInterleaveAreNone) {
  const auto column = [this](std::uint64_t offset) {
    return runtime::access_of({x, offset, 8, 10, 16}, /*write=*/true);
  };
  p.launch(s, "left", {column(0)});
  p.launch(t, "right", {column(8)});
  EXPECT_THAT(races_of(p), IsEmpty());
  p.launch(t, "askew", {column(4)});
  const std::vector<Race> races = find_races(p.timeline());
  ASSERT_EQ(races.size(), 1);
  EXPECT_EQ(races[0].begin, 4);
  EXPECT_EQ(races[0].end, 8);
}

TEST_F(Ranges, TheNearestConflictIsFoundBehindNearerAccessesElsewhere) {
  p.launch(s, "far", {write(x, 0, 8)});
  p.launch(s, "near", {write(x, 0, 8)});
  p.launch(s, "elsewhere", {write(x, 512, 520)});
  p.launch(t, "b", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW x near->b"));
}

TEST_F(Ranges, TheNearestReadAndTheNearestWriteAreReported) {
  p.launch(s, "read", {read(x, 0, 8)});
  p.launch(s, "write", {write(x, 0, 8)});
  p.launch(t, "b", {write(x, 0, 8)});
  EXPECT_THAT(races_of(p), UnorderedElementsAre("WAR x read->b", "WAW x write->b"));
}

TEST(Flags, OrderStreamsOfTwoHostsWhicheverLogComesFirst) {
  for (const std::uint16_t signaller : {std::uint16_t{0}, std::uint16_t{1}}) {
    Program p(2);
    const Stream s = p.stream("s"), t = p.stream("t");
    const Buffer x = p.buffer("x");
    const auto waiter = static_cast<std::uint16_t>(1 - signaller);
    p.on(waiter);
    p.wait(t, Flag{0}, 1);
    p.launch(t, "b", {read(x, 0, 8)});
    p.on(signaller);
    p.launch(s, "a", {write(x, 0, 8)});
    p.signal(s, Flag{0}, 1);
    EXPECT_THAT(races_of(p), IsEmpty());
  }
}

TEST(Flags, AWaitComesAfterTheFirstSignalThatSatisfiesItAndNoLaterOne) {
  Program p(2);
  const Stream s = p.stream("s"), t = p.stream("t");
  const Buffer x = p.buffer("x"), y = p.buffer("y"), z = p.buffer("z");
  p.on(0).launch(s, "a", {write(x, 0, 8)});
  p.signal(s, Flag{0}, 1);
  p.launch(s, "b", {write(y, 0, 8)});
  p.signal(s, Flag{0}, 4);
  p.launch(s, "c", {write(z, 0, 8)});
  p.signal(s, Flag{0}, 5);
  p.on(1).wait(t, Flag{0}, 2);
  p.launch(t, "d", {read(x, 0, 8), read(y, 0, 8), read(z, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW z c->d"));
}

TEST(Flags, OfSeveralStreamsBindByValueNotByTheOrderOfTheLogs) {
  Program p(3);
  const Stream s = p.stream("s"), t = p.stream("t"), u = p.stream("u");
  const Buffer x = p.buffer("x");
  // Host 0 sets 2 and is replayed first, but only after host 1 has set 1.
  p.on(0).launch(s, "second", {write(x, 0, 8)});
  p.signal(s, Flag{0}, 2);
  p.on(1).signal(t, Flag{0}, 1);
  p.on(2).wait(u, Flag{0}, 1);
  p.launch(u, "reader", {read(x, 0, 8)});
  EXPECT_THAT(races_of(p), ElementsAre("RAW x second->reader"));
}

TEST(Flags, HostsThatBlockInTurnsAreFollowed) {
  Program p(2);
  const Stream s = p.stream("s"), t = p.stream("t");
  const Buffer x = p.buffer("x");
  for (std::uint64_t round = 1; round <= 50; ++round) {
    p.on(0).wait(s, Flag{1}, round - 1);
    p.launch(s, "ping", {write(x, 0, 8)});
    p.signal(s, Flag{0}, round);
    p.block(p.end_of(s));
    p.on(1).wait(t, Flag{0}, round);
    p.launch(t, "pong", {write(x, 0, 8)});
    p.signal(t, Flag{1}, round);
    p.block(p.end_of(t));
  }
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST(Flags, AHostThatBlocksOnOneComesAfterItsSignalAndSoDoesWhatItThenEnqueues) {
  for (const bool blocks : {true, false}) {
    Program p(2);
    const Stream s = p.stream("s"), t = p.stream("t");
    const Buffer x = p.buffer("x"), y = p.buffer("y");
    p.on(0).launch(s, "writer", {write(x, 0, 8)});
    p.signal(s, Flag{0}, 3);
    p.launch(s, "later", {write(y, 0, 8)});
    p.on(1);
    if (blocks) p.block(Flag{0}, 2);
    p.span("look", {read(x, 0, 8)});
    p.launch(t, "reader", {read(x, 0, 8), read(y, 0, 8)});
    if (blocks) {
      EXPECT_THAT(races_of(p), UnorderedElementsAre("RAW y later->reader"));
    } else {
      EXPECT_THAT(races_of(p), UnorderedElementsAre("RAW x writer->look", "RAW x writer->reader",
                                                    "RAW y later->reader"));
    }
  }
}

TEST(Flags, ABlockedHostThatNoSignalReachesIsNamed) {
  Program p(2);
  const Stream s = p.stream("s");
  p.on(0).signal(s, Flag{0}, 1);
  p.on(1).block(Flag{0}, 2);
  try {
    find_races(p.timeline());
    FAIL() << "no error";
  } catch (const UnsatisfiedWaitError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("host 1 waits for flag 0 >= 2 (site), which no signal sets"));
  }
}

TEST(Flags, AWaitThatNothingSatisfiesIsNamed) {
  Program p(2);
  const Stream s = p.stream("s"), t = p.stream("t");
  p.on(0).signal(s, Flag{0}, 1);
  p.on(1).wait(t, Flag{0}, 2);
  p.block(p.end_of(t));
  try {
    find_races(p.timeline());
    FAIL() << "no error";
  } catch (const UnsatisfiedWaitError& error) {
    EXPECT_THAT(error.what(), HasSubstr("stream 't' at command 1 waits for flag 0 >= 2 (site), "
                                        "which no signal sets"));
    EXPECT_THAT(error.what(), HasSubstr("host 1 waits for command 1 of stream 't'"));
  }
}

TEST(Flags, OneValueOfTwoStreamsIsRefused) {
  Program p(1);
  p.signal(p.stream("s"), Flag{0}, 1);
  p.signal(p.stream("t"), Flag{0}, 1);
  EXPECT_THROW(find_races(p.timeline()), InvalidTimelineError);
}

TEST_F(GraphOrder, LanesAreOrderedByTheirEdgesOnly) {
  const Graph joined = p.graph("g", {node("a", 0, {}), node("b", 1, {0}), node("c", 0, {0, 1})});
  const Graph loose = p.graph("g", {node("a", 0, {}), node("b", 1, {}), node("c", 0, {0})});
  const std::vector<Accesses> touches = {
      {write(x, 0, 8)}, {read(x, 0, 8), write(y, 0, 8)}, {read(y, 0, 8)}};
  p.launch_graph(joined, s, "launch", {}, touches);
  EXPECT_THAT(races_of(p), IsEmpty());
  p.launch_graph(loose, s, "launch", {}, touches);
  EXPECT_THAT(races_of(p), ElementsAre("RAW x a->b", "RAW y b->c"));
}

TEST_F(GraphOrder, ALaunchForksFromItsStreamAndJoinsIntoIt) {
  const Graph graph = p.graph("g", {node("a", 0, {}), node("b", 1, {})});
  p.launch(s, "before", {write(x, 0, 8), write(y, 0, 8)});
  p.launch_graph(graph, s, "launch", {}, {{write(x, 0, 8)}, {write(y, 0, 8)}});
  p.launch(s, "after", {read(x, 0, 8), read(y, 0, 8)});
  p.record(event, s);
  p.wait(t, event);
  p.launch(t, "elsewhere", {write(x, 0, 8), write(y, 0, 8)});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(GraphOrder, LaunchesOfTwoStreamsThatShareAWorkspaceRace) {
  const Graph first = p.graph("first", {node("a", 0, {})});
  const Graph second = p.graph("second", {node("b", 0, {})});
  p.launch_graph(first, s, "first", {write(x, 0, 1024)}, {});
  p.launch_graph(second, t, "second", {write(x, 0, 1024)}, {});
  EXPECT_THAT(races_of(p), ElementsAre("WAW x first->second"));
  p.wait(s, p.end_of(t));
  p.launch_graph(first, s, "third", {write(x, 0, 1024)}, {});
  EXPECT_THAT(races_of(p), ElementsAre("WAW x first->second"));
}

TEST_F(GraphOrder, ALaunchDoesNotRaceWithItsOwnNodesOverTheWorkspace) {
  const Graph graph = p.graph("g", {node("a", 0, {}), node("b", 1, {}), node("c", 1, {1})});
  for (int i = 0; i < 2; ++i) {
    p.launch_graph(graph, s, "launch", {write(x, 0, 1024)},
                   {{write(x, 0, 8)}, {write(x, 8, 16)}, {read(x, 8, 16)}});
  }
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST_F(GraphOrder, ASignalInsideAGraphCoversWhatItComesAfterAndNotTheWholeLaunch) {
  const Flag flag{0};
  const Graph graph = p.graph(
      "g", {node("a", 0, {}), flag_node(NodeType::kSignal, 0, {0}, flag, 1), node("b", 0, {1})});
  p.wait(t, flag, 1);  // before the launch: t is held
  p.launch(t, "reader", {read(x, 0, 8), read(y, 0, 8), read(x, 512, 520)});
  p.launch_graph(graph, s, "launch", {write(x, 512, 1024)},
                 {{write(x, 0, 8)}, {}, {write(y, 0, 8)}});
  EXPECT_THAT(races_of(p), UnorderedElementsAre("RAW x launch->reader", "RAW y b->reader"));
}

TEST(GraphFlags, LanesOfTwoGraphsThatAnswerEachOtherDoNotHoldEachOtherUp) {
  Program p(2);
  const Stream s = p.stream("s"), t = p.stream("t");
  const Buffer x = p.buffer("x");
  const auto graph = [&](std::uint32_t mine, std::uint32_t theirs) {
    return p.graph("g",
                   {flag_node(NodeType::kWaitFlag, 0, {}, Flag{theirs}, 1), node("use", 0, {0}),
                    node("make", 1, {}), flag_node(NodeType::kSignal, 1, {2}, Flag{mine}, 1)});
  };
  const Graph g = graph(0, 1), h = graph(1, 0);
  p.on(0).launch_graph(g, s, "g", {}, {{}, {read(x, 8, 16)}, {write(x, 0, 8)}, {}});
  p.on(1).launch_graph(h, t, "h", {}, {{}, {read(x, 0, 8)}, {write(x, 8, 16)}, {}});
  EXPECT_THAT(races_of(p), IsEmpty());
}

TEST(GraphFlags, WithACycleEachLaunchIsOrderedAfterTheSignalOfItsOwnValue) {
  const auto races = [](std::uint64_t cycle) {
    Program p;
    const Stream s = p.stream("s"), t = p.stream("t");
    const Buffer x = p.buffer("x");
    GraphNodeInfo wait = flag_node(NodeType::kWaitFlag, 0, {}, Flag{0}, 1);
    wait.cycle = cycle;
    const Graph graph = p.graph("g", {wait, node("use", 0, {0})});
    for (std::uint64_t value = 1; value <= 2; ++value) {
      p.launch(t, "make", {write(x, 8 * value, 8 * value + 8)});
      p.signal(t, Flag{0}, value);
    }
    p.launch_graph(graph, s, "first", {}, {{}, {read(x, 8, 16)}});
    p.launch_graph(graph, s, "second", {}, {{}, {read(x, 16, 24)}});
    return races_of(p);
  };
  EXPECT_THAT(races(1), IsEmpty());
  EXPECT_THAT(races(0), ElementsAre("RAW x make->use"));  // the second waits for 1 again
}

TEST(GraphFlags, AGraphThatIsNeverLetPassIsNamed) {
  Program p;
  const Graph graph = p.graph("g", {flag_node(NodeType::kWaitFlag, 0, {}, Flag{3}, 7)});
  p.launch_graph(graph, p.stream("s"), "launch", {}, {});
  try {
    find_races(p.timeline());
    FAIL() << "no error";
  } catch (const UnsatisfiedWaitError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("flag 3 >= 7 (flag node), which no signal sets in graph 'g'"));
  }
}

TEST_F(Reports, NameBothOperationsTheBytesAndTheMissingOrder) {
  const Stream h2d = p.stream("h2d"), compute = p.stream("compute");
  const Buffer inputs = p.buffer("inputs[0]");
  p.step(2).launch(compute, "forward", {read(inputs, 0, 512)});
  p.step(3).launch(h2d, "h2d", {write(inputs, 0, 1024)});
  p.step(4).span("peek", {read(inputs, 0, 4)});
  const runtime::Timeline timeline = p.timeline();
  const std::vector<Race> races = find_races(timeline);
  ASSERT_EQ(races.size(), 2);
  EXPECT_EQ(describe(timeline, races[0]),
            "WAR inputs[0]: 'h2d' step 3 (stream h2d) writes bytes 0..512 while 'forward' step 2 "
            "(stream compute) may still read them; missing: compute -> h2d");
  EXPECT_EQ(describe(timeline, races[1]),
            "RAW inputs[0]: 'peek' step 4 (host 0) reads bytes 0..4 while 'h2d' step 3 (stream "
            "h2d) may not have written them yet; missing: h2d -> host 0");
}

TEST_F(Reports, SummariesCountTheSameMistakeOverTheSteps) {
  for (std::int32_t step = 0; step < 10; ++step) {
    p.step(step).launch(s, "h2d", {write(x, 0, 8)});
    p.launch(t, "forward", {read(x, 0, 8)});
  }
  const runtime::Timeline timeline = p.timeline();
  const std::vector<RaceSummary> summaries = summarize(timeline, find_races(timeline));
  ASSERT_EQ(summaries.size(), 2);  // forward reads too early, and the next h2d writes too early
  EXPECT_EQ(summaries[0].count, 10);
  EXPECT_EQ(summaries[0].step_distance, 0);
  EXPECT_EQ(summaries[0].first.hazard, Hazard::kReadAfterWrite);
  EXPECT_EQ(summaries[1].count, 9);
  EXPECT_EQ(summaries[1].step_distance, 1);
  EXPECT_THAT(describe(timeline, summaries[1]), HasSubstr("missing: t -> s [9 times]"));
}

TEST_F(Reports, ATimelineThatContradictsItselfIsRefused) {
  p.launch(s, "a", {write(x, 0, 8)});
  p.launch(s, "b", {write(x, 0, 8)});
  const runtime::Timeline good = p.timeline();
  const auto refused = [&](auto&& spoil) {
    runtime::Timeline bad = good;
    spoil(bad);
    EXPECT_THROW(find_races(bad), InvalidTimelineError);
  };
  refused([](runtime::Timeline& bad) { bad.detail = runtime::Detail::kTimes; });
  refused([](runtime::Timeline& bad) { bad.calls[1].at.sequence = 5; });
  refused([](runtime::Timeline& bad) { bad.calls[1].at.stream = Stream{9}; });
  refused([](runtime::Timeline& bad) { bad.calls[1].operation = 9; });
  refused([](runtime::Timeline& bad) { bad.calls[1].host = 1; });
  refused([](runtime::Timeline& bad) { bad.operations[1].first_access = 9; });
  refused([](runtime::Timeline& bad) { bad.operations[1].stream = Stream{1}; });
  refused([](runtime::Timeline& bad) { bad.accesses[1].buffer = Buffer{9}; });
}

}  // namespace
}  // namespace syncopate::analysis
