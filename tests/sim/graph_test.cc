// Graphs: when their nodes run, what a launch changes, and what holds a second launch.

#include <array>

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

using runtime::NodeArgs;
using runtime::OperationKind;

HardwareProfile graph_profile() {
  HardwareProfile profile;
  profile.host.graph_launch_us = 5;
  profile.host.graph_launch_per_node_us = 0.5;
  profile.launch.latency_us = 2;
  profile.graph = {.start_latency_us = 3, .node_gap_us = 1};
  return profile;
}

TEST(Graphs, RunTheirNodesWithGapsAfterAStartLatency) {
  VirtualMachine machine(graph_profile());
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "graph", [&](Host& captured) {
      launch(captured, stream, "first", 10'000);
      launch(captured, stream, "second", 20'000);
    });
    host.launch(graph, stream, "graph", {});
    launch(host, stream, "behind", 1'000);
  });
  EXPECT_EQ(machine.find("graph").issue_end, 6'000);
  expect_times(machine.find("first"), 11'000, 21'000);
  expect_times(machine.find("second"), 22'000, 42'000);
  expect_times(machine.find("graph"), 11'000, 42'000);
  expect_times(machine.find("behind"), 42'000, 43'000);
}

TEST(Graphs, KeepTheirTimesWithoutLoggedNodes) {
  VirtualMachine machine(graph_profile(), kTimesOnly, 1, runtime::Detail::kTimes);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "graph", [&](Host& captured) {
      launch(captured, stream, "first", 10'000);
      launch(captured, stream, "second", 20'000);
    });
    host.launch(graph, stream, "graph", {});
    launch(host, stream, "behind", 1'000);
  });
  EXPECT_EQ(machine.operations().size(), 2u);
  expect_times(machine.find("graph"), 11'000, 42'000);
  expect_times(machine.find("behind"), 42'000, 43'000);
}

TEST(Graphs, TakeTheCostsOfEachLaunch) {
  HardwareProfile profile;
  profile.kernel(Work::kForward).per_token_us = 1;
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "graph", [&](Host& captured) {
      launch(captured, stream, "fixed", 1'000);
      Cost cost;
      cost.work = Work::kForward;
      cost.tokens = 1;
      captured.launch(stream, "forward", cost, {}, idle_kernel());
    });
    // Both are enqueued before the first runs: each keeps its own cost.
    for (const std::uint32_t tokens : {5u, 7u}) {
      std::array<NodeArgs, 1> args{};
      args[0].node = 1;
      args[0].cost.work = Work::kForward;
      args[0].cost.tokens = tokens;
      host.launch(graph, stream, tokens == 5 ? "five" : "seven", args);
    }
    host.launch(graph, stream, "as captured", {});
  });
  expect_times(machine.find("five"), 0, 6'000);
  expect_times(machine.find("seven"), 6'000, 14'000);
  expect_times(machine.find("as captured"), 14'000, 16'000);
}

TEST(Graphs, ForkAndJoinAsTheCapturedStreamsDid) {
  HardwareProfile profile;
  profile.graph.node_gap_us = 1;
  VirtualMachine machine(profile);
  const Stream origin = machine.stream(), side = machine.stream();
  const Event fork = machine.event(), join = machine.event();
  const Buffer pinned = machine.buffer(Memory::kPinned, 4'000);
  const Buffer device = machine.buffer(Memory::kDevice, 4'000);
  machine.run([&](Host& host) {
    const Graph graph = host.capture(origin, Buffer{}, "graph", [&](Host& captured) {
      launch(captured, origin, "head", 1'000);
      captured.record(fork, origin, "fork");
      captured.wait(side, fork, "forked");
      captured.copy(side, "copy", Region::flat(device, 0, 4'000), Region::flat(pinned, 0, 4'000));
      captured.record(join, side, "join");
      launch(captured, origin, "middle", 2'000);
      captured.wait(origin, join, "joined");
      launch(captured, origin, "tail", 3'000);
    });
    host.launch(graph, origin, "graph", {});
  });
  expect_times(machine.find("head"), 0, 1'000);
  expect_times(machine.find("copy"), 2'000, 6'000);
  expect_times(machine.find("middle"), 2'000, 4'000);
  expect_times(machine.find("tail"), 7'000, 10'000);
  expect_times(machine.find("graph"), 0, 10'000);
}

TEST(Graphs, LaunchedAgainWaitForTheirEarlierLaunch) {
  VirtualMachine machine(HardwareProfile{});
  const Stream a = machine.stream(), b = machine.stream();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(a, Buffer{}, "graph",
                                     [&](Host& captured) { launch(captured, a, "node", 1'000); });
    const Graph other = host.capture(
        a, Buffer{}, "other", [&](Host& captured) { launch(captured, a, "other node", 1'000); });
    host.launch(graph, a, "first", {});
    host.launch(graph, b, "again", {});
    host.launch(graph, a, "third", {});
    host.launch(other, b, "other", {});
  });
  expect_times(machine.find("first"), 0, 1'000);
  expect_times(machine.find("again"), 1'000, 2'000);
  expect_times(machine.find("third"), 2'000, 3'000);
  expect_times(machine.find("other"), 2'000, 3'000);  // a graph of its own: nothing holds it
}

TEST(Graphs, SignalAndWaitForFlagsInside) {
  VirtualMachine machine(HardwareProfile{});
  const Stream a = machine.stream(), b = machine.stream();
  const Flag ready = machine->make_flag(), done = machine->make_flag();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(a, Buffer{}, "graph", [&](Host& captured) {
      captured.wait(a, ready, 1, "wait ready");
      launch(captured, a, "node", 1'000);
      captured.signal(a, done, 1, "signal done");
    });
    host.launch(graph, a, "graph", {});
    launch(host, b, "before", 5'000);
    host.signal(b, ready, 1, "signal ready");
    host.wait(b, done, 1, "wait done");
    launch(host, b, "after", 100);
  });
  expect_times(machine.find("node"), 5'000, 6'000);
  expect_times(machine.find("after"), 6'000, 6'100);
  expect_times(machine.find("wait ready"), 0, 5'000);
}

// A flag with a cycle: the n-th launch is about values that are n cycles higher.
TEST(Graphs, EachLaunchWaitsForValuesOfItsOwn) {
  VirtualMachine machine(HardwareProfile{});
  const Stream a = machine.stream(), b = machine.stream();
  const Flag ready = machine->make_flag(2), done = machine->make_flag(1);
  machine.run([&](Host& host) {
    const Graph graph = host.capture(a, Buffer{}, "graph", [&](Host& captured) {
      captured.wait(a, ready, 1, "wait 1");
      launch(captured, a, "first", 1'000);
      captured.wait(a, ready, 2, "wait 2");
      launch(captured, a, "second", 1'000);
      captured.signal(a, done, 1, "signal done");
    });
    for (int i = 0; i < 3; ++i) host.launch(graph, a, "graph", {});
    for (std::uint64_t value = 1; value <= 6; ++value) {
      launch(host, b, "make", 10'000);
      host.signal(b, ready, value, "signal ready");
    }
    host.wait(b, done, 3, "wait done");
    launch(host, b, "after", 100);
  });
  std::vector<std::int64_t> starts;
  for (const Operation& operation : machine->timeline().operations) {
    const std::string_view name = operation.name;
    if (name == "first" || name == "second") starts.push_back(operation.start);
  }
  EXPECT_EQ(starts, (std::vector<std::int64_t>{10'000, 20'000, 30'000, 40'000, 50'000, 60'000}));
  expect_times(machine.find("after"), 61'000, 61'100);
}

}  // namespace
}  // namespace syncopate::sim
