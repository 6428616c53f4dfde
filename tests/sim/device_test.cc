// Copy engines and kernels that run at the same time, through the public interface.

#include <limits>

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

TEST(CopyEngines, SerialiseCopiesOfOneDirectionAndOverlapDirections) {
  HardwareProfile profile;
  profile.h2d = {.latency_us = 1, .gb_per_s = 1};
  profile.d2h = {.latency_us = 2, .gb_per_s = 1};
  VirtualMachine machine(profile);
  const Stream a = machine.stream(), b = machine.stream(), c = machine.stream();
  const Buffer pinned = machine.buffer(Memory::kPinned, 3'000);
  const Buffer device = machine.buffer(Memory::kDevice, 3'000);
  const auto part = [](Buffer buffer, std::uint64_t index) {
    return Region::flat(buffer, 1'000 * index, 1'000);
  };
  machine.run([&](Host& host) {
    host.copy(a, "up 0", part(device, 0), part(pinned, 0));
    host.copy(b, "up 1", part(device, 1), part(pinned, 1));
    host.copy(c, "down", part(pinned, 2), part(device, 2));
  });
  expect_times(machine.find("up 0"), 0, 2'000);
  expect_times(machine.find("up 1"), 2'000, 4'000);
  expect_times(machine.find("down"), 0, 3'000);
}

TEST(CopyEngines, ServeCopiesInTheOrderInWhichTheyBecomeReady) {
  VirtualMachine machine(HardwareProfile{});  // a byte takes a nanosecond
  const Stream a = machine.stream(), b = machine.stream(), c = machine.stream();
  const Buffer pinned = machine.buffer(Memory::kPinned, 1'000);
  const Buffer device = machine.buffer(Memory::kDevice, 1'000);
  machine.run([&](Host& host) {
    const Region up = Region::flat(device, 0, 1'000), from = Region::flat(pinned, 0, 1'000);
    launch(host, a, "long", 700);
    host.copy(a, "ready at 700", up, from);  // enqueued first, ready last
    host.copy(b, "ready at 0", up, from);
    launch(host, c, "short", 300);
    host.copy(c, "ready at 300", up, from);
  });
  expect_times(machine.find("ready at 0"), 0, 1'000);
  expect_times(machine.find("ready at 300"), 1'000, 2'000);
  expect_times(machine.find("ready at 700"), 2'000, 3'000);
}

TEST(CopyEngines, APageableCopyBlocksTheHostUntilItIsDone) {
  HardwareProfile profile;
  profile.host.copy_us = 3;
  profile.host.wake_us = 2;
  profile.h2d = {.latency_us = 1, .gb_per_s = 10};
  profile.pageable = {.latency_us = 4, .gb_per_s = 0.5};
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  const Buffer pageable = machine.buffer(Memory::kPageable, 1'000);
  const Buffer device = machine.buffer(Memory::kDevice, 1'000);
  Nanos returned = 0;
  machine.run([&](Host& host) {
    launch(host, stream, "kernel", 10'000);
    host.copy(stream, "copy", Region::flat(device, 0, 1'000), Region::flat(pageable, 0, 1'000));
    returned = host.now();
  });
  expect_times(machine.find("copy"), 10'000, 17'000);  // 1 + 4 us, and 1000 B at 0.5 B/ns
  EXPECT_EQ(returned, 19'000);
}

HardwareProfile with_demand(double sm, double holds) {
  HardwareProfile profile;
  profile.kernel(Work::kForward) = {.base_us = 100, .sm = sm, .holds = holds};
  profile.kernel(Work::kCarry) = {.base_us = 10, .sm = sm, .holds = 0.1};
  return profile;
}

Cost of(Work work) {
  Cost cost;
  cost.work = work;
  return cost;
}

TEST(Kernels, OfTwoStreamsShareTheDevice) {
  VirtualMachine machine(with_demand(1, 0));
  const Stream a = machine.stream(), b = machine.stream();
  machine.run([&](Host& host) {
    host.launch(a, "forward", of(Work::kForward), {}, idle_kernel());
    host.busy("later", 50'000);
    host.launch(b, "carry", of(Work::kCarry), {}, idle_kernel());
  });
  // Both at half rate from 50 us until the short one is done.
  expect_times(machine.find("carry"), 50'000, 70'000);
  expect_times(machine.find("forward"), 0, 110'000);
}

TEST(Kernels, WaitForAPersistentOneToDrainWhileCopiesGoOn) {
  VirtualMachine machine(with_demand(0.1, 1));
  const Stream a = machine.stream(), b = machine.stream(), c = machine.stream();
  const Buffer pinned = machine.buffer(Memory::kPinned, 1'000);
  const Buffer device = machine.buffer(Memory::kDevice, 1'000);
  machine.run([&](Host& host) {
    host.launch(a, "forward", of(Work::kForward), {}, idle_kernel());
    host.launch(b, "carry", of(Work::kCarry), {}, idle_kernel());
    host.copy(c, "copy", Region::flat(device, 0, 1'000), Region::flat(pinned, 0, 1'000));
  });
  expect_times(machine.find("forward"), 0, 100'000);
  expect_times(machine.find("carry"), 100'000, 110'000);
  expect_times(machine.find("copy"), 0, 1'000);
}

TEST(Kernels, OfDifferentDevicesDoNotShare) {
  VirtualMachine machine(with_demand(1, 1), kTimesOnly, 2);
  const Stream a = machine.stream("a", StreamKind::kNonBlocking, Device{0});
  const Stream b = machine.stream("b", StreamKind::kNonBlocking, Device{1});
  machine.run({[&](Host& host) { host.launch(a, "zero", of(Work::kForward), {}, idle_kernel()); },
               [&](Host& host) { host.launch(b, "one", of(Work::kForward), {}, idle_kernel()); }});
  expect_times(machine.find("zero"), 0, 100'000);
  expect_times(machine.find("one"), 0, 100'000);
}

TEST(Profile, NumbersWithoutMeaningAreRefused) {
  const auto refuse = [](auto&& change) {
    HardwareProfile profile;
    change(profile);
    EXPECT_THROW(make_sim_engine(profile, kTimesOnly, 1), runtime::UsageError);
  };
  refuse([](HardwareProfile& p) { p.host.copy_us = -1; });
  refuse([](HardwareProfile& p) { p.h2d.gb_per_s = 0; });
  refuse([](HardwareProfile& p) { p.kernel(Work::kForward).holds = 1.5; });
  refuse([](HardwareProfile& p) { p.launch.queue_depth = 0; });
  refuse([](HardwareProfile& p) { p.jitter = 1; });
  refuse(
      [](HardwareProfile& p) { p.graph.node_gap_us = std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_THROW(make_sim_engine(HardwareProfile{}, kTimesOnly, 0), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::sim
