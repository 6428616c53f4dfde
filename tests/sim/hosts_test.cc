// Several hosts in virtual time, errors that end a run, and deadlocks.

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

using runtime::DeadlockError;
using runtime::OperationError;
using testing::HasSubstr;

struct TwoHosts {
  explicit TwoHosts(const HardwareProfile& profile = {}, const SimOptions& options = kTimesOnly)
      : machine(profile, options, 2) {}
  VirtualMachine machine;
  Stream zero = machine.stream("zero", StreamKind::kNonBlocking, Device{0});
  Stream one = machine.stream("one", StreamKind::kNonBlocking, Device{1});
};

TEST(Hosts, PassFlagsInVirtualTime) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 1;
  profile.host.wake_us = 3;
  TwoHosts two(profile);
  const Flag there = two.machine->make_flag(), back = two.machine->make_flag();
  std::vector<Nanos> returned(2);
  two.machine.run({[&](Host& host) {
                     launch(host, two.zero, "ping", 10'000);  // call 0-1
                     host.signal(two.zero, there, 1, "signal there");
                     host.wait(two.zero, back, 1, "wait back");
                     launch(host, two.zero, "end", 2'000);
                     host.synchronize(two.zero, "block 0");
                     returned[0] = host.now();
                   },
                   [&](Host& host) {
                     host.wait(two.one, there, 1, "wait there");
                     launch(host, two.one, "pong", 20'000);
                     host.signal(two.one, back, 1, "signal back");
                     host.synchronize(two.one, "block 1");
                     returned[1] = host.now();
                   }});
  expect_times(two.machine.find("ping"), 1'000, 11'000);
  expect_times(two.machine.find("pong"), 11'000, 31'000);
  expect_times(two.machine.find("end"), 31'000, 33'000);
  EXPECT_EQ(returned, (std::vector<Nanos>{36'000, 34'000}));
}

// The kernel ends at 11, and both see it 3 later; a flag that is set is seen at the price of a
// query.
TEST(Hosts, BlockOnFlagsWithoutHoldingAStream) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 1;
  profile.host.query_us = 2;
  profile.host.wake_us = 3;
  TwoHosts two(profile);
  const Flag there = two.machine->make_flag();
  std::vector<Nanos> returned(3);
  two.machine.run({[&](Host& host) {
                     launch(host, two.zero, "work", 10'000);  // call 0-1
                     host.signal(two.zero, there, 5, "signal");
                     host.synchronize(there, 5, "meet 0");
                     returned[0] = host.now();
                   },
                   [&](Host& host) {
                     host.synchronize(there, 4, "meet 1");
                     returned[1] = host.now();
                     host.synchronize(there, 5, "again");
                     returned[2] = host.now();
                     launch(host, two.one, "after", 1'000);
                   }});
  EXPECT_EQ(returned, (std::vector<Nanos>{14'000, 14'000, 16'000}));
  expect_times(two.machine.find("after"), 17'000, 18'000);
}

TEST(Hosts, RunOneAtATimeWithTheLeastClockFirst) {
  TwoHosts two;
  const Event zero = two.machine->make_event(Device{0}), one = two.machine->make_event(Device{1});
  std::vector<std::string> order;  // unguarded: only one host runs at a time
  const auto main = [&](Stream stream, Event event, Nanos step, const char* name) {
    return [&order, stream, event, step, name](Host& host) {
      for (int i = 0; i < 3; ++i) {
        host.busy("busy", step);
        launch(host, stream, "kernel", 1);
        host.record(event, stream, "record");
        (void)host.query(event, "query");  // lets the other go first if it is behind
        order.push_back(name + std::to_string(host.now() / 1'000));
      }
    };
  };
  two.machine.run({main(two.zero, zero, 10'000, "zero "), main(two.one, one, 4'000, "one ")});
  EXPECT_EQ(order, (std::vector<std::string>{"one 4", "one 8", "zero 10", "one 12", "zero 20",
                                             "zero 30"}));
}

TEST(Hosts, AnErrorOfOneReleasesTheOthersAndIsThrown) {
  TwoHosts two;
  const Flag never = two.machine->make_flag();
  bool unwound = false;
  const auto run = [&] {
    two.machine.run({[&](Host& host) {
                       host.wait(two.zero, never, 1, "wait");
                       try {
                         host.synchronize(two.zero, "block");
                       } catch (...) {
                         unwound = true;
                         throw;
                       }
                     },
                     [&](Host& host) {
                       host.busy("busy", 1'000);
                       throw std::domain_error("host one gave up");
                     }});
  };
  EXPECT_THROW(run(), std::domain_error);
  EXPECT_TRUE(unwound);
}

TEST(Hosts, AnOperationThatFailsNamesItselfAndKeepsEarlierTimes) {
  VirtualMachine machine(HardwareProfile{}, SimOptions{});
  const Stream stream = machine.stream();
  struct Nothing {};
  const Kernel failing{
      .host =
          runtime::Body::of<[](Exec&, const Nothing&) { throw std::range_error("row 9 of 8"); }>(
              Nothing{}),
      .cuda = {}};
  try {
    machine.run([&](Host& host) {
      launch(host, stream, "good", 1'000);
      host.launch(stream, "bad", takes(1'000), {}, failing);
      host.synchronize(stream, "block");
      FAIL() << "the block must throw";
    });
    FAIL() << "the run must throw";
  } catch (const OperationError& error) {
    EXPECT_EQ(error.operation(), "bad");
    EXPECT_THAT(error.what(), HasSubstr("row 9 of 8"));
  }
  expect_times(machine.find("good"), 0, 1'000);
}

TEST(Hosts, AKernelWithoutHostBodyCannotHaveEffects) {
  VirtualMachine machine(HardwareProfile{}, SimOptions{});
  const Stream stream = machine.stream();
  EXPECT_THROW(
      machine.run([&](Host& host) { host.launch(stream, "kernel", takes(1), {}, Kernel{}); }),
      runtime::UsageError);
}

TEST(Deadlock, NamesHostsStreamsPositionsAndWhatTheyWaitFor) {
  TwoHosts two;
  const Flag flag = two.machine->make_flag();
  try {
    two.machine.run({[&](Host& host) {
                       launch(host, two.zero, "first", 1'000);
                       host.wait(two.zero, flag, 3, "wait");
                       launch(host, two.zero, "second", 1'000);
                       host.synchronize(two.zero, "block");
                     },
                     [&](Host& host) { host.signal(two.one, flag, 2, "signal"); }});
    FAIL() << "nothing can signal 3";
  } catch (const DeadlockError& error) {
    EXPECT_STREQ(error.what(),
                 "nothing can go on\n"
                 "  host 0 waits for command 3 of stream 0\n"
                 "  stream 0 of device 0: 1 of 3 commands done; the next one waits for flag 0 to "
                 "be 3 (it is 2)");
  }
  expect_times(two.machine.find("first"), 0, 1'000);
}

TEST(Deadlock, NamesTheFlagThatAHostBlocksOn) {
  TwoHosts two;
  const Flag flag = two.machine->make_flag();
  try {
    two.machine.run({[&](Host& host) { host.synchronize(flag, 3, "meet"); },
                     [&](Host& host) { host.signal(two.one, flag, 2, "signal"); }});
    FAIL() << "nothing can signal 3";
  } catch (const DeadlockError& error) {
    EXPECT_STREQ(error.what(), "nothing can go on\n  host 0 waits for flag 0 to be 3");
  }
}

TEST(Deadlock, IsFoundWhenHostsHaveReturnedAndStreamsAreStuck) {
  VirtualMachine machine(HardwareProfile{});
  const Stream a = machine.stream(), b = machine.stream();
  const Flag flag = machine->make_flag();
  const Event done = machine.event();
  try {
    machine.run([&](Host& host) {
      const Graph graph = host.capture(a, Buffer{}, "graph", [&](Host& captured) {
        captured.wait(a, flag, 1, "wait in graph");
      });
      host.launch(graph, a, "graph", {});
      host.record(done, a, "record");
      host.wait(b, done, "wait");
      launch(host, b, "kernel", 1);
    });
    FAIL() << "nothing signals the flag";
  } catch (const DeadlockError& error) {
    EXPECT_THAT(error.what(), HasSubstr("stream 0 of device 0: 0 of 1 commands done; the next one "
                                        "is a launch of graph 0, whose node 0 waits for flag 0 to "
                                        "be 1 (it is 0)"));
    EXPECT_THAT(error.what(), HasSubstr("stream 1 of device 0: 0 of 2 commands done; the next one "
                                        "waits for command 1 of stream 0 (it has done 0)"));
  }
}

}  // namespace
}  // namespace syncopate::sim
