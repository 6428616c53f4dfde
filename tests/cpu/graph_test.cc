#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Event;
using runtime::Flag;
using runtime::Graph;
using runtime::Operation;
using runtime::OperationKind;

TEST(CpuGraph, RunsItsNodesInOrderAtEachLaunch) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  run(*runtime, {[&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "graph", [&](Host& h) {
      launch(h, stream, "one", append(cell, 0, 1));
      launch(h, stream, "two", append(cell, 0, 2));
      h.copy(stream, "d2h", ints(out, 1), ints(cell, 1));
    });
    EXPECT_EQ(*runtime->host_data<int>(out), 0) << "capturing runs nothing";
    host.launch(graph, stream, "launch", {});
    host.launch(graph, stream, "launch", {});
  }});
  EXPECT_EQ(*runtime->host_data<int>(out), 1212);
}

TEST(CpuGraph, WithACycleEachLaunchWaitsForAValueOfItsOwn) {
  const auto runtime = make_runtime();
  const Stream origin = make_stream(*runtime);
  const Stream other = make_stream(*runtime);
  const Flag there = runtime->make_flag(1), back = runtime->make_flag(1);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  run(*runtime, {[&](Host& host) {
    const Graph graph = host.capture(origin, Buffer{}, "graph", [&](Host& h) {
      h.wait(origin, there, 1, "wait");
      launch(h, origin, "two", append(cell, 0, 2));
      h.signal(origin, back, 1, "signal");
    });
    for (std::uint64_t launched = 1; launched <= 3; ++launched) {
      host.launch(graph, origin, "launch", {});
      launch(host, other, "one", append(cell, 0, 1));
      host.signal(other, there, launched, "signal");
      host.wait(other, back, launched, "wait");
    }
    host.copy(other, "d2h", ints(out, 1), ints(cell, 1));
  }});
  EXPECT_EQ(*runtime->host_data<int>(out), 121212);
}

TEST(CpuGraph, ForksAndJoins) {
  const auto runtime = make_runtime();
  const Stream origin = make_stream(*runtime);
  const Stream side = make_stream(*runtime);
  const Event forked = runtime->make_event(kDevice0);
  const Event joined = runtime->make_event(kDevice0);
  const Buffer cells = make_ints(*runtime, Memory::kDevice, 2);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 2);
  run(*runtime, {[&](Host& host) {
    const Graph graph = host.capture(origin, Buffer{}, "graph", [&](Host& h) {
      launch(h, origin, "one", append(cells, 0, 1));
      h.record(forked, origin, "forked");
      h.wait(side, forked, "forked");
      launch(h, side, "two", append(cells, 0, 2));
      launch(h, origin, "three", append(cells, 1, 3));
      h.record(joined, side, "joined");
      h.wait(origin, joined, "joined");
      h.copy(origin, "d2h", ints(out, 2), ints(cells, 2));
    });
    host.launch(graph, origin, "launch", {});
  }});
  EXPECT_EQ(runtime->host_data<int>(out)[0], 12);
  EXPECT_EQ(runtime->host_data<int>(out)[1], 3);
}

TEST(CpuGraph, SignalsAndWaitsForFlags) {
  const auto runtime = make_runtime(2);
  const Stream first = make_stream(*runtime, kDevice0);
  const Stream second = make_stream(*runtime, kDevice1);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1, kDevice1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1, kDevice1);
  const Flag flag = runtime->make_flag();
  run(*runtime, {[&](Host& host) {
                   const Graph graph = host.capture(first, Buffer{}, "first", [&](Host& h) {
                     launch(h, first, "store", store(cell, 0, 8));
                     h.signal(first, flag, 1, "signal");
                   });
                   host.launch(graph, first, "launch", {});
                 },
                 [&](Host& host) {
                   const Graph graph = host.capture(second, Buffer{}, "second", [&](Host& h) {
                     h.wait(second, flag, 1, "wait");
                     h.copy(second, "d2h", ints(out, 1), ints(cell, 1));
                   });
                   host.launch(graph, second, "launch", {});
                 }});
  EXPECT_EQ(*runtime->host_data<int>(out), 8);
}

std::unique_ptr<Runtime> run_two_nodes(runtime::Detail detail) {
  auto runtime = make_runtime(1, {}, {.detail = detail, .removed_sites = {}});
  const Stream stream = make_stream(*runtime);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1);
  run(*runtime, {[&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "graph", [&](Host& h) {
      launch(h, stream, "one", append(cell, 0, 1));
      launch(h, stream, "two", append(cell, 0, 2));
    });
    host.launch(graph, stream, "launch", {});
    launch(host, stream, "after", append(cell, 0, 3));
  }});
  return runtime;
}

TEST(CpuGraph, HasTimesForItsNodesInAFullLog) {
  const auto runtime = run_two_nodes(runtime::Detail::kAll);
  const runtime::Log<Operation>& operations = runtime->timeline().operations;
  ASSERT_EQ(operations.size(), 4u);
  const Operation &graph = operations[0], &one = operations[1], &two = operations[2],
                  &after = operations[3];
  EXPECT_GE(graph.start, 0);
  EXPECT_LE(graph.start, one.start);
  EXPECT_LE(one.start, one.end);
  EXPECT_LE(one.end, two.start);
  EXPECT_LE(two.start, two.end);
  EXPECT_LE(two.end, graph.end);
  EXPECT_LE(graph.end, after.start);
}

TEST(CpuGraph, HasOneTimeInALogOfTimesOnly) {
  const auto runtime = run_two_nodes(runtime::Detail::kTimes);
  const runtime::Log<Operation>& operations = runtime->timeline().operations;
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].kind, OperationKind::kGraph);
  EXPECT_GE(operations[0].start, 0);
  EXPECT_LE(operations[0].end, operations[1].start);
  EXPECT_STREQ(operations[1].name, "after");
}

TEST(CpuGraph, NamesTheNodeThatFails) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  try {
    run(*runtime, {[&](Host& host) {
      const Graph graph = host.capture(stream, Buffer{}, "graph",
                                       [&](Host& h) { launch(h, stream, "failing node", fail()); });
      host.launch(graph, stream, "launch", {});
    }});
    FAIL() << "no error";
  } catch (const runtime::OperationError& error) {
    EXPECT_EQ(error.operation(), "failing node");
  }
}

}  // namespace
}  // namespace syncopate::cpu::toy
