// Streams, events and the host's clock: every time here is worked out by hand from the profile.

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

TEST(StreamTiming, LaunchOverheadStaggersThreeOperationsOnThreeStreams) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 4;
  profile.launch.latency_us = 3;
  VirtualMachine machine(profile);
  const Stream a = machine.stream(), b = machine.stream(), c = machine.stream();
  machine.run([&](Host& host) {
    launch(host, a, "a", 10'000);
    launch(host, b, "b", 10'000);
    launch(host, c, "c", 10'000);
  });
  // Calls end at 4, 8, 12 us; each kernel starts 3 us after its call.
  expect_times(machine.find("a"), 7'000, 17'000);
  expect_times(machine.find("b"), 11'000, 21'000);
  expect_times(machine.find("c"), 15'000, 25'000);
  EXPECT_EQ(machine.find("b").issue_begin, 4'000);
  EXPECT_EQ(machine.find("b").issue_end, 8'000);
  EXPECT_EQ(machine.end(), 25'000);
}

TEST(StreamTiming, AStreamRunsItsCommandsInOrderAndHidesLaunchOverheadBehindThem) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 4;
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    launch(host, stream, "first", 10'000);
    launch(host, stream, "second", 1'000);
    launch(host, stream, "third", 1'000);
  });
  expect_times(machine.find("first"), 4'000, 14'000);
  expect_times(machine.find("second"), 14'000, 15'000);
  expect_times(machine.find("third"), 15'000, 16'000);
}

TEST(StreamTiming, TheLegacyDefaultStreamStallsBlockingStreamsAndNoOthers) {
  VirtualMachine machine(HardwareProfile{});
  const Stream standard = machine.stream("default", StreamKind::kLegacyDefault);
  const Stream blocking = machine.stream("blocking", StreamKind::kBlocking);
  const Stream free = machine.stream("free", StreamKind::kNonBlocking);
  machine.run([&](Host& host) {
    launch(host, blocking, "before", 5'000);
    launch(host, standard, "default", 2'000);
    launch(host, blocking, "after", 1'000);
    launch(host, free, "free", 1'000);
  });
  expect_times(machine.find("before"), 0, 5'000);
  expect_times(machine.find("default"), 5'000, 7'000);
  expect_times(machine.find("after"), 7'000, 8'000);
  expect_times(machine.find("free"), 0, 1'000);
}

TEST(StreamTiming, AnEventHoldsOneStreamUntilTheOtherReachesIt) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 2;
  profile.host.record_us = 1;
  profile.host.wait_us = 1;
  VirtualMachine machine(profile);
  const Stream first = machine.stream(), second = machine.stream();
  const Event done = machine.event();
  machine.run([&](Host& host) {
    launch(host, first, "producer", 20'000);  // call 0-2
    host.record(done, first, "record");       // 2-3
    host.wait(second, done, "wait");          // 3-4
    launch(host, second, "consumer", 5'000);  // 4-6
    launch(host, first, "later", 30'000);     // 6-8: the record does not move
  });
  expect_times(machine.find("producer"), 2'000, 22'000);
  expect_times(machine.find("consumer"), 22'000, 27'000);
  expect_times(machine.find("later"), 22'000, 52'000);
  EXPECT_EQ(machine.find("later").issue_end, 8'000);
}

TEST(StreamTiming, TheOrderedPipelineChainsUploadComputeAndDownload) {
  HardwareProfile profile;
  profile.host.copy_us = 2;
  profile.host.kernel_launch_us = 3;
  profile.host.record_us = 1;
  profile.host.wait_us = 1;
  profile.host.synchronize_us = 2;
  profile.host.wake_us = 4;
  profile.launch.latency_us = 5;
  profile.h2d = {.latency_us = 1, .gb_per_s = 2};
  profile.d2h = {.latency_us = 2, .gb_per_s = 1};
  VirtualMachine machine(profile);
  const Stream up = machine.stream(), compute = machine.stream(), down = machine.stream();
  const Event uploaded = machine.event(), computed = machine.event(), downloaded = machine.event();
  const Buffer pinned = machine.buffer(Memory::kPinned, 4'000);
  const Buffer device = machine.buffer(Memory::kDevice, 4'000);
  Nanos returned = 0;
  machine.run([&](Host& host) {
    const Region here = Region::flat(pinned, 0, 4'000), there = Region::flat(device, 0, 4'000);
    host.copy(up, "upload", there, here);
    host.record(uploaded, up, "uploaded");
    host.wait(compute, uploaded, "wait uploaded");
    launch(host, compute, "kernel", 10'000);
    host.record(computed, compute, "computed");
    host.wait(down, computed, "wait computed");
    host.copy(down, "download", here, there);
    host.record(downloaded, down, "downloaded");
    host.synchronize(downloaded, "block");
    returned = host.now();
  });
  expect_times(machine.find("upload"), 7'000, 10'000);     // call to 2, +5; 1 us + 4000 B / 2 B/ns
  expect_times(machine.find("kernel"), 12'000, 22'000);    // call 4-7, +5, after the upload
  expect_times(machine.find("download"), 22'000, 28'000);  // 2 us + 4000 B / 1 B/ns
  EXPECT_EQ(machine.find("block").start, 12'000);
  EXPECT_EQ(returned, 32'000);  // 4 us to wake up
}

TEST(StreamTiming, SynchronizingWithWhatIsReachedCostsOnlyTheCall) {
  HardwareProfile profile;
  profile.host.synchronize_us = 2;
  profile.host.wake_us = 50;
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  std::vector<Nanos> times;
  machine.run([&](Host& host) {
    launch(host, stream, "kernel", 10'000);
    host.busy("busy", 30'000);
    host.synchronize(stream, "first");
    times.push_back(host.now());
    host.synchronize(stream, "second");
    times.push_back(host.now());
  });
  EXPECT_EQ(times, (std::vector<Nanos>{32'000, 34'000}));
}

TEST(StreamTiming, AQuerySeesTheDevicesAtTheHostsClock) {
  HardwareProfile profile;
  profile.host.query_us = 1;
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  const Event done = machine.event();
  int polls = 0;
  machine.run([&](Host& host) {
    launch(host, stream, "kernel", 2'500);
    host.record(done, stream, "record");
    while (!host.query(done, "poll")) ++polls;  // asked at 0, 1, 2 and 3 us
  });
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(machine.end(), 4'000);
}

TEST(StreamTiming, PollingWithFreeQueriesStillEnds) {
  VirtualMachine machine(HardwareProfile{});
  const Stream stream = machine.stream();
  const Event done = machine.event();
  machine.run([&](Host& host) {
    launch(host, stream, "kernel", 100);
    host.record(done, stream, "record");
    while (!host.query(done, "poll")) {
    }
  });
  EXPECT_GE(machine.end(), 100);
}

TEST(StreamTiming, AFullQueueHoldsTheHostUntilACommandIsDone) {
  HardwareProfile profile;
  profile.host.kernel_launch_us = 1;
  profile.launch.queue_depth = 2;
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    launch(host, stream, "a", 10'000);  // call 0-1, runs 1-11
    launch(host, stream, "b", 10'000);  // call 1-2, runs 11-21
    launch(host, stream, "c", 10'000);  // full until 11
    launch(host, stream, "d", 10'000);  // full until 21
  });
  EXPECT_EQ(machine.find("c").issue_begin, 2'000);
  EXPECT_EQ(machine.find("c").issue_end, 12'000);
  EXPECT_EQ(machine.find("d").issue_end, 22'000);
  expect_times(machine.find("d"), 31'000, 41'000);
}

TEST(StreamTiming, HostSpansAndSleepMoveTheHostsClock) {
  HardwareProfile profile;
  profile.span(Work::kPrepare) = {.base_us = 10, .per_row_us = 0.5, .per_changed_row_us = 2};
  VirtualMachine machine(profile);
  std::vector<Nanos> times;
  machine.run([&](Host& host) {
    host.span("prepare", {}, [] {
      Cost cost;
      cost.work = Work::kPrepare;
      cost.rows = 32;
      cost.changed_rows = 3;
      return cost;
    });
    times.push_back(host.now());
    host.sleep_until(100'000);
    times.push_back(host.now());
    host.sleep_until(50'000);
    times.push_back(host.now());
  });
  EXPECT_EQ(times, (std::vector<Nanos>{32'000, 100'000, 100'000}));
  expect_times(machine.find("prepare"), 0, 32'000);
}

TEST(StreamTiming, KernelsAreChargedByTheTermsOfTheirWork) {
  HardwareProfile profile;
  profile.kernel(Work::kForward) = {.base_us = 100,
                                    .per_row_us = 1.5,
                                    .per_token_us = 0.25,
                                    .per_kv_ktoken_us = 8,
                                    .per_attention_kpair_us = 2};
  VirtualMachine machine(profile);
  const Stream stream = machine.stream();
  machine.run([&](Host& host) {
    Cost cost;
    cost.work = Work::kForward;
    cost.rows = 4;
    cost.tokens = 20;
    cost.kv_tokens = 1'250;
    cost.attention_pairs = 3'500;
    cost.fixed_ns = 7;
    host.launch(stream, "forward", cost, {}, idle_kernel());
  });
  expect_times(machine.find("forward"), 0, 100'000 + 6'000 + 5'000 + 10'000 + 7'000 + 7);
}

TEST(StreamTiming, AStreamThatWasHeldGoesOnAHandoverLater) {
  HardwareProfile profile;
  profile.launch.handover_us = 40;
  VirtualMachine machine(profile);
  const Stream first = machine.stream();
  const Stream held = machine.stream();
  const Stream late = machine.stream();
  const Event event = machine.event();
  machine.run([&](Host& host) {
    host.launch(first, "first", takes(100'000), {}, idle_kernel());
    host.record(event, first, "record");
    host.wait(held, event, "wait");
    host.launch(held, "held", takes(1'000), {}, idle_kernel());
    // Comes to its wait when the event has long been reached: nothing holds it.
    host.launch(late, "before", takes(200'000), {}, idle_kernel());
    host.wait(late, event, "wait");
    host.launch(late, "late", takes(1'000), {}, idle_kernel());
  });
  expect_times(machine.find("held"), 140'000, 141'000);
  expect_times(machine.find("late"), 200'000, 201'000);
}

TEST(StreamTiming, AStreamThatWasHeldByAFlagGoesOnAHandoverLater) {
  HardwareProfile profile;
  profile.launch.handover_us = 40;
  VirtualMachine machine(profile);
  const Stream first = machine.stream();
  const Stream held = machine.stream();
  const Flag flag = machine->make_flag();
  machine.run([&](Host& host) {
    host.wait(held, flag, 1, "wait");
    host.launch(held, "held", takes(1'000), {}, idle_kernel());
    host.launch(first, "first", takes(100'000), {}, idle_kernel());
    host.signal(first, flag, 1, "signal");
  });
  expect_times(machine.find("held"), 140'000, 141'000);
}

}  // namespace
}  // namespace syncopate::sim
