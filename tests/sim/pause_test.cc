// What a kernel takes more after a pause: every time here is worked out by hand from the profile.

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

/// A kernel of kForward takes 10 us, and 4 us more after a pause of 20 us; the host pays nothing.
HardwareProfile with_pause() {
  HardwareProfile profile;
  profile.kernel(Work::kForward) = {.base_us = 10, .after_pause_us = 4, .pause_us = 20};
  return profile;
}

void forward(Host& host, Stream stream, Name name) {
  Cost cost;
  cost.work = Work::kForward;
  host.launch(stream, name, cost, {}, idle_kernel());
}

TEST(Pause, AddsAllFromItsLengthOnAndAShareBefore) {
  VirtualMachine machine(with_pause());
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    forward(host, stream, "first");  // nothing was there before: the longest pause
    forward(host, stream, "at once");
    host.busy("work", 29'000);  // 5 us after the end of "at once"
    forward(host, stream, "quarter");
    host.busy("work", 31'000);
    forward(host, stream, "full");
    host.busy("work", 100'000);
    forward(host, stream, "longer");
  });
  expect_times(machine.find("first"), 0, 14'000);
  expect_times(machine.find("at once"), 14'000, 24'000);
  expect_times(machine.find("quarter"), 29'000, 40'000);
  expect_times(machine.find("full"), 60'000, 74'000);
  expect_times(machine.find("longer"), 160'000, 174'000);
}

TEST(Pause, IsThatOfKernelsOfTheSameKind) {
  VirtualMachine machine(with_pause());
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    forward(host, stream, "first");
    launch(host, stream, "other", 30'000);  // keeps the device busy, and forward's data cold
    forward(host, stream, "second");
  });
  expect_times(machine.find("other"), 14'000, 44'000);
  expect_times(machine.find("second"), 44'000, 58'000);
}

TEST(Pause, IsNoneWhileAnotherKernelOfTheKindRuns) {
  VirtualMachine machine(with_pause());
  const Stream a = machine.stream(), b = machine.stream();
  machine.run([&](Host& host) {
    forward(host, a, "long");
    host.busy("work", 13'000);
    forward(host, b, "beside");  // 0 to 14 runs the first
    host.busy("work", 2'000);
    forward(host, a, "after");  // the first has ended, "beside" has not
  });
  expect_times(machine.find("beside"), 13'000, 23'000);
  expect_times(machine.find("after"), 15'000, 25'000);
}

TEST(Pause, CountsOnEachDeviceAlone) {
  VirtualMachine machine(with_pause(), kTimesOnly, 2);
  const Stream here = machine.stream();
  const Stream there = machine.stream("there", StreamKind::kNonBlocking, Device{1});
  machine.run({[&](Host& host) {
                 forward(host, here, "here");
                 forward(host, here, "here again");
               },
               [&](Host& host) {
                 host.busy("work", 14'000);
                 forward(host, there, "there");
               }});
  expect_times(machine.find("here again"), 14'000, 24'000);
  expect_times(machine.find("there"), 14'000, 28'000);
}

TEST(Pause, CountsForNodesOfGraphs) {
  VirtualMachine machine(with_pause());
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    const Graph graph = host.capture(stream, Buffer{}, "two", [&](Host& h) {
      forward(h, stream, "one");
      forward(h, stream, "two");
    });
    host.launch(graph, stream, "cold", {});
    host.launch(graph, stream, "at once", {});
    host.busy("work", 54'000);
    host.launch(graph, stream, "after 10 us", {});
  });
  expect_times(machine.find("cold"), 0, 24'000);
  expect_times(machine.find("at once"), 24'000, 44'000);
  expect_times(machine.find("after 10 us"), 54'000, 76'000);
}

TEST(Pause, MustHaveAMeaning) {
  HardwareProfile profile = with_pause();
  profile.kernel(Work::kForward).pause_us = -1;
  EXPECT_THROW(make_sim_engine(profile, kTimesOnly, 1), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::sim
