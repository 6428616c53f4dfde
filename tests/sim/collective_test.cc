// Kernels of collectives: exact times of ranks that wait for each other, and what they hold.
#include <gmock/gmock.h>

#include <functional>
#include <vector>

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

using runtime::Meeting;
using ::testing::HasSubstr;

/// An exchange takes 10 us and 2 us for each 1e6 bytes; `holds` of the block slots.
HardwareProfile exchanges(double holds = 0) {
  HardwareProfile profile;
  profile.kernel(Work::kExchange) = {.base_us = 10, .per_mb_us = 2, .holds = holds};
  profile.kernel(Work::kAttention) = {.base_us = 100, .holds = 1};  // persistent
  return profile;
}

Cost exchange_of(std::uint64_t bytes) {
  Cost cost;
  cost.work = Work::kExchange;
  cost.bytes = bytes;
  return cost;
}

Cost attention() {
  Cost cost;
  cost.work = Work::kAttention;
  return cost;
}

void exchange(Host& host, Stream stream, Name name, Meeting meeting, std::uint64_t bytes = 0) {
  host.collective(stream, name, exchange_of(bytes), {}, idle_kernel(), meeting);
}

TEST(Collective, BeginsWhenTheLastHasComeAndAllGoOnWhenTheLastHasEnded) {
  VirtualMachine machine(exchanges(), kTimesOnly, 2);
  const Stream first = machine.stream();
  const Stream second = machine.stream("stream", StreamKind::kNonBlocking, Device{1});
  const Meeting meeting = machine->make_meeting({Device{0}, Device{1}});
  machine.run({[&](Host& host) {
                 launch(host, first, "early", 3'000);
                 exchange(host, first, "exchange 0", meeting, 5'000'000);  // 20 us
                 launch(host, first, "behind 0", 1'000);
               },
               [&](Host& host) {
                 launch(host, second, "late", 7'000);
                 exchange(host, second, "exchange 1", meeting, 1'000'000);  // 12 us
                 launch(host, second, "behind 1", 1'000);
               }});
  expect_times(machine.find("exchange 0"), 3'000, 27'000);
  expect_times(machine.find("exchange 1"), 7'000, 27'000);
  expect_times(machine.find("behind 0"), 27'000, 28'000);
  expect_times(machine.find("behind 1"), 27'000, 28'000);
}

TEST(Collective, OfOneRankIsAKernel) {
  VirtualMachine machine(exchanges());
  const Stream stream = machine.stream();
  const Meeting meeting = machine->make_meeting({kDevice});
  machine.run([&](Host& host) {
    exchange(host, stream, "exchange", meeting, 1'000'000);
    exchange(host, stream, "next", meeting);
  });
  expect_times(machine.find("exchange"), 0, 12'000);
  expect_times(machine.find("next"), 12'000, 22'000);
}

/// A device computes for 100 us with every slot taken, the other is free and comes at once.
struct BesideAttention {
  explicit BesideAttention(double holds) : machine(exchanges(holds), kTimesOnly, 2) {
    const Stream compute = machine.stream();
    const Stream side = machine.stream();
    const Stream other = machine.stream("other", StreamKind::kNonBlocking, Device{1});
    const Meeting meeting = machine->make_meeting({Device{0}, Device{1}});
    machine.run({[&](Host& host) {
                   host.launch(compute, "attention", attention(), {}, idle_kernel());
                   exchange(host, side, "exchange 0", meeting);
                 },
                 [&](Host& host) {
                   exchange(host, other, "exchange 1", meeting);
                   host.launch(other, "next", attention(), {}, idle_kernel());
                 }});
  }
  VirtualMachine machine;
};

TEST(Collective, AKernelThatNeedsSlotsIsLateForAllRanks) {
  const BesideAttention held(0.25);
  expect_times(held.machine.find("exchange 0"), 100'000, 110'000);
  expect_times(held.machine.find("exchange 1"), 0, 110'000);
  expect_times(held.machine.find("next"), 110'000, 210'000);
  const BesideAttention free(0);
  expect_times(free.machine.find("exchange 0"), 0, 10'000);
  expect_times(free.machine.find("exchange 1"), 0, 10'000);
}

TEST(Collective, ARankThatWaitsForOthersHoldsItsSlots) {
  VirtualMachine machine(exchanges(0.25), kTimesOnly, 2);
  const Stream side = machine.stream();
  const Stream compute = machine.stream();
  const Stream other = machine.stream("other", StreamKind::kNonBlocking, Device{1});
  const Meeting meeting = machine->make_meeting({Device{0}, Device{1}});
  machine.run({[&](Host& host) {
                 exchange(host, side, "exchange 0", meeting);
                 host.launch(compute, "attention", attention(), {}, idle_kernel());
               },
               [&](Host& host) {
                 launch(host, other, "late", 40'000);
                 exchange(host, other, "exchange 1", meeting);
               }});
  expect_times(machine.find("exchange 0"), 0, 50'000);
  expect_times(machine.find("attention"), 50'000, 150'000);
}

/// Two ranks with two meetings each, in a stream each; the second enqueues them in the same order
/// or not.
void two_meetings(VirtualMachine& machine, bool same_order) {
  std::vector<Stream> streams;
  for (std::uint32_t i = 0; i < 4; ++i) {
    streams.push_back(machine.stream("stream", StreamKind::kNonBlocking, Device{i / 2}));
  }
  const Meeting in = machine->make_meeting({Device{0}, Device{1}});
  const Meeting out = machine->make_meeting({Device{0}, Device{1}});
  machine.run({[&](Host& host) {
                 exchange(host, streams[0], "in", in);
                 exchange(host, streams[1], "out", out);
               },
               [&](Host& host) {
                 exchange(host, streams[2], "in", same_order ? in : out);
                 exchange(host, streams[3], "out", same_order ? out : in);
               }});
}

// The deadlock of communicators that share devices: each rank's first kernel holds what the other
// rank's partner of it needs.
TEST(Collective, DifferentOrdersDeadlockWhereTwoDoNotFitOnADevice) {
  VirtualMachine in_order(exchanges(0.6), kTimesOnly, 2);
  two_meetings(in_order, /*same_order=*/true);
  EXPECT_EQ(in_order.end(), 20'000);

  VirtualMachine fitting(exchanges(0.5), kTimesOnly, 2);
  two_meetings(fitting, /*same_order=*/false);
  EXPECT_EQ(fitting.end(), 10'000);

  VirtualMachine machine(exchanges(0.6), kTimesOnly, 2);
  try {
    two_meetings(machine, /*same_order=*/false);
    ADD_FAILURE() << "it ends";
  } catch (const runtime::DeadlockError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("stream 0 of device 0: 2 of 5 commands done; the next one is 'in' of "
                          "meeting 0, to which 1 of 2 ranks have come"));
    EXPECT_THAT(error.what(), HasSubstr("stream 1 of device 0: 2 of 5 commands done; the next one "
                                        "is 'out', which waits for its slots"));
  }
}

TEST(Collective, InAGraphTakesWhatItTakesInAStream) {
  HardwareProfile profile = exchanges();
  profile.graph.node_gap_us = 1;
  profile.host.graph_launch_per_node_us = 4;
  VirtualMachine machine(profile, kTimesOnly, 2);
  const Stream streams[] = {machine.stream(),
                            machine.stream("stream", StreamKind::kNonBlocking, Device{1})};
  const Meeting meeting = machine->make_meeting({Device{0}, Device{1}}, 1);
  const auto main = [&](Host& host) {
    const Stream stream = streams[host.device().id];
    const Graph graph = host.capture(stream, {}, "graph", [&](Host& h) {
      launch(h, stream, "before", 5'000);
      exchange(h, stream, "exchange", meeting);
    });
    for (int i = 0; i < 2; ++i) {
      host.launch(graph, stream, i == 0 ? "first" : "second", {});
    }
  };
  machine.run({main, main});
  // A launch calls for its two nodes: 8 us. 5 us, a gap of 1, 10 us.
  for (const Operation& operation : machine.operations()) {
    if (operation.name == std::string("first")) expect_times(operation, 8'000, 24'000);
    if (operation.name == std::string("second")) expect_times(operation, 24'000, 40'000);
  }
  EXPECT_EQ(machine.end(), 40'000);
}

TEST(Collective, MeetingCostsTheHostNoMoreThanALaunch) {
  HardwareProfile profile = exchanges();
  profile.host.kernel_launch_us = 3;
  profile.host.signal_us = profile.host.wait_us = 100;
  VirtualMachine machine(profile, kTimesOnly, 2);
  const Stream streams[] = {machine.stream(),
                            machine.stream("stream", StreamKind::kNonBlocking, Device{1})};
  const Meeting meeting = machine->make_meeting({Device{0}, Device{1}});
  const auto main = [&](Host& host) {
    exchange(host, streams[host.device().id], "exchange", meeting);
    EXPECT_EQ(host.now(), 3'000);
  };
  machine.run({main, main});
}

}  // namespace
}  // namespace syncopate::sim
