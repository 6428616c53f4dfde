// The same profile, options and program give the same times; seeds, jitter and chaos change them
// within their bounds.

#include <algorithm>
#include <set>

#include "sim/random.h"
#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

using Times = std::vector<Nanos>;

// Two hosts that meet by flags, with copies, kernels that share a device, and graphs.
Times run_program(const HardwareProfile& profile, const SimOptions& options) {
  VirtualMachine machine(profile, options, 2);
  std::vector<Stream> compute, transfer;
  std::vector<Buffer> pinned, buffers;
  std::vector<Event> events;
  std::vector<Flag> flags;
  for (std::uint32_t id = 0; id < 2; ++id) {
    const Device device{id};
    compute.push_back(machine.stream("compute", StreamKind::kNonBlocking, device));
    transfer.push_back(machine.stream("transfer", StreamKind::kNonBlocking, device));
    pinned.push_back(machine->make_buffer(device, Memory::kPinned, 512, "pinned"));
    buffers.push_back(machine->make_buffer(device, Memory::kDevice, 512, "device"));
    events.push_back(machine->make_event(device));
    flags.push_back(machine->make_flag());
  }
  const auto main = [&](std::uint32_t me) {
    return [&, me](Host& host) {
      const Graph graph = host.capture(compute[me], Buffer{}, "graph", [&](Host& captured) {
        launch(captured, compute[me], "node 0", 900 + 100 * me);
        launch(captured, compute[me], "node 1", 700);
      });
      for (std::uint64_t step = 1; step <= 20; ++step) {
        host.copy(transfer[me], "up", Region::flat(buffers[me], 0, 512),
                  Region::flat(pinned[me], 0, 512));
        host.record(events[me], transfer[me], "record");
        host.wait(compute[me], events[me], "wait");
        host.launch(graph, compute[me], "graph", {});
        launch(host, transfer[me], "beside", 400);
        host.signal(compute[me], flags[me], step, "signal");
        host.wait(transfer[me], flags[1 - me], step, "wait flag");
        if (step % 3 == me) host.synchronize(transfer[me], "block");
        host.busy("busy", 250);
      }
    };
  };
  machine.run({main(0), main(1)});
  Times times;
  for (const Operation& operation : machine.operations()) {
    times.insert(times.end(), {operation.issue_begin, operation.start, operation.end});
  }
  return times;
}

HardwareProfile jittery() {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 0.3;
  profile.host.wake_us = 0.2;
  profile.graph.node_gap_us = 0.05;
  profile.kernel(Work::kNone) = {.sm = 0.7};
  profile.jitter = 0.2;
  return profile;
}

TEST(Determinism, TheSameSeedGivesTheSameTimes) {
  for (const bool effects : {false, true}) {
    const SimOptions options{.effects = effects, .seed = 5};
    EXPECT_EQ(run_program(jittery(), options), run_program(jittery(), options));
  }
}

TEST(Determinism, SeedsDifferUnderJitterAndOnlyThen) {
  HardwareProfile profile = jittery();
  EXPECT_NE(run_program(profile, {.effects = false, .seed = 5}),
            run_program(profile, {.effects = false, .seed = 6}));
  profile.jitter = 0;
  EXPECT_EQ(run_program(profile, {.effects = false, .seed = 5}),
            run_program(profile, {.effects = false, .seed = 6}));
}

TEST(Determinism, EffectsDoNotChangeTimes) {
  EXPECT_EQ(run_program(jittery(), {.effects = false, .seed = 5}),
            run_program(jittery(), {.effects = true, .seed = 5}));
}

Times durations(const HardwareProfile& profile, const SimOptions& options, int count) {
  VirtualMachine machine(profile, options);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    for (int i = 0; i < count; ++i) launch(host, stream, "kernel", 1'000'000);
  });
  Times result;
  for (const Operation& operation : machine.operations()) {
    result.push_back(operation.end - operation.start);
  }
  return result;
}

TEST(Jitter, StaysWithinItsAmplitudeAndAveragesOut) {
  HardwareProfile profile;
  profile.jitter = 0.1;
  const Times times = durations(profile, {.effects = false, .seed = 3}, 1'000);
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  EXPECT_GE(*least, 900'000);
  EXPECT_LE(*most, 1'100'000);
  EXPECT_LT(*least, 910'000);
  EXPECT_GT(*most, 1'090'000);
  Nanos sum = 0;
  for (const Nanos time : times) sum += time;
  EXPECT_NEAR(static_cast<double>(sum) / 1'000, 1e6, 1e4);  // five standard errors are 9,100
}

TEST(Chaos, DrawsEveryDoublingFromOneMicrosecondToFiveMilliseconds) {
  const Times times = durations(HardwareProfile{}, {.effects = false, .chaos = true}, 1'000);
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  EXPECT_GE(*least, 1'000);
  EXPECT_LE(*most, 5'000'000);
  std::set<int> doublings;
  for (const Nanos time : times) {
    int doubling = 0;
    while ((2'000LL << doubling) <= time) ++doubling;
    doublings.insert(doubling);
  }
  EXPECT_EQ(doublings.size(), 13u);
}

// Streams of one seed differ, and each can be replayed.
TEST(Chaos, StreamsOfOneSeedDifferAndRepeat) {
  Random random(0, 0), again(0, 0), other(0, 1);
  const std::uint64_t first = random.next();
  EXPECT_EQ(first, again.next());
  EXPECT_NE(first, other.next());
}

}  // namespace
}  // namespace syncopate::sim
