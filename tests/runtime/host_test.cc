// The front end's rules, seen from below: what it asks of an engine for what a program says.
#include "backend/runtime/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "backend/runtime/error.h"
#include "tests/runtime/recording_engine.h"

namespace syncopate::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void nothing(Exec&, const int&) {}
const Kernel kKernel{Body::of<nothing>(0), {}};

class HostTest : public ::testing::Test {
 protected:
  Runtime& make(RuntimeOptions options = {}) {
    runtime_ = std::make_unique<Runtime>(std::make_unique<RecordingEngine>(recorded_, 1),
                                         std::move(options));
    return *runtime_;
  }
  Stream stream(StreamKind kind = StreamKind::kNonBlocking) {
    return runtime_->make_stream(kDevice, kind, "stream");
  }
  Event event() { return runtime_->make_event(kDevice); }
  void run(const std::function<void(Host&)>& main) {
    const HostMain mains[] = {main};
    runtime_->run(mains);
  }
  static void launch(Host& host, Stream stream, Name name = "k") {
    host.launch(stream, name, {}, {}, kKernel);
  }
  template <class Fn>
  void expect_usage_error(Fn&& main, const char* text) {
    try {
      run(main);
      FAIL() << "no error; expected one with: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  }

  static constexpr Device kDevice{0};
  Recorded recorded_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(HostTest, AWaitBindsToTheNewestRecordAtItsCall) {
  make();
  const Stream a = stream(), b = stream();
  const Event e = event();
  run([&](Host& host) {
    launch(host, a);
    host.record(e, a, "first");
    launch(host, a);
    host.record(e, a, "second");
    host.wait(b, e, "wait");
    launch(host, a);
    host.record(e, a, "third");
    launch(host, b);
  });
  EXPECT_THAT(recorded_.asked,
              ElementsAre("s0: run k", "record s0@1", "s0: run k", "record s0@2", "s1: wait s0@2",
                          "s0: run k", "record s0@3", "s1: run k"));
}

TEST_F(HostTest, ANeverRecordedEventOrdersNothing) {
  make();
  const Stream a = stream();
  const Event e = event();
  run([&](Host& host) {
    host.wait(a, e, "wait");
    host.synchronize(e, "block");
    EXPECT_TRUE(host.query(e, "query"));
  });
  EXPECT_THAT(recorded_.asked, IsEmpty());
}

TEST_F(HostTest, ARecordBehindAWaitStandsForTheWait) {
  make();
  const Stream a = stream(), b = stream(), c = stream();
  const Event first = event(), second = event();
  run([&](Host& host) {
    launch(host, a);
    host.record(first, a, "r1");
    host.wait(b, first, "w1");
    host.record(second, b, "r2");  // nothing else is in b: the wait itself is what it marks
    host.wait(c, second, "w2");
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("s0: run k", "record s0@1", "s1: wait s0@1",
                                           "record s1@1", "s2: wait s1@1"));
}

TEST_F(HostTest, TheDefaultStreamWaitsForBlockingStreamsAndTheyForIt) {
  make();
  const Stream standard = stream(StreamKind::kLegacyDefault);
  const Stream blocking = stream(StreamKind::kBlocking);
  const Stream free = stream(StreamKind::kNonBlocking);
  run([&](Host& host) {
    launch(host, blocking);
    launch(host, free);
    launch(host, standard);
    launch(host, free);
    launch(host, blocking);
    launch(host, blocking);  // already behind the default stream: no second wait
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("s1: run k", "s2: run k", "s0: wait s1@1", "s0: run k",
                                           "s2: run k", "s1: wait s0@2", "s1: run k", "s1: run k"));
}

TEST_F(HostTest, AnEngineThatOrdersTheDefaultStreamItselfIsNotAskedTo) {
  recorded_.native_default_stream = true;
  make();
  const Stream standard = stream(StreamKind::kLegacyDefault);
  const Stream blocking = stream(StreamKind::kBlocking);
  run([&](Host& host) {
    launch(host, blocking);
    launch(host, standard);
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("s1: run k", "s0: run k"));
  // The log shows the order all the same.
  const Call& wait = runtime_->timeline().calls.at(1);
  EXPECT_EQ(wait.type, CallType::kWait);
  EXPECT_TRUE(wait.implicit);
  EXPECT_EQ(wait.target.stream, blocking);
}

TEST_F(HostTest, MakingTheDefaultStreamTwiceGivesTheSameOne) {
  make();
  const Stream first = stream(StreamKind::kLegacyDefault);
  EXPECT_EQ(stream(StreamKind::kLegacyDefault), first);
}

TEST_F(HostTest, BlocksOnAFlagAndNoStream) {
  Runtime& runtime = make();
  const Flag flag = runtime.make_flag();
  run([&](Host& host) {
    host.synchronize(flag, 7, "meet");
    host.synchronize(flag, 8, "meet");
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("block flag 0 >= 7", "block flag 0 >= 8"));
  const Timeline& timeline = runtime.timeline();
  ASSERT_EQ(timeline.calls.size(), 2U);
  const Call& call = timeline.calls[1];
  EXPECT_EQ(call.type, CallType::kBlockFlag);
  EXPECT_STREQ(call.site, "meet");
  EXPECT_EQ(call.flag, flag);
  EXPECT_EQ(call.value, 8U);
  EXPECT_EQ(timeline.operations.at(call.operation).kind, OperationKind::kHostBlock);
}

TEST_F(HostTest, RefusesToBlockOnAFlagWhoseValuesGoAround) {
  Runtime& runtime = make();
  const Flag around = runtime.make_flag(4);
  run([&](Host& host) { EXPECT_THROW(host.synchronize(around, 1, "meet"), UsageError); });
  EXPECT_THAT(recorded_.asked, IsEmpty());
}

TEST_F(HostTest, RemovedSitesAreLeftOut) {
  make({Detail::kAll, {"record", "block", "signal"}});
  const Stream a = stream(), b = stream();
  const Event e = event();
  const Flag flag = runtime_->make_flag();
  run([&](Host& host) {
    launch(host, a);
    host.record(e, a, "record");
    host.wait(b, e, "wait");  // on an event that is now never recorded
    host.signal(a, flag, 1, "signal");
    host.synchronize(a, "block");
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("s0: run k"));
}

TEST_F(HostTest, CopiesTakeTheirDirectionFromWhereTheBuffersLive) {
  Runtime& runtime = make();
  const Stream a = stream();
  const Buffer device = runtime.make_buffer(kDevice, Memory::kDevice, 64, "device");
  const Buffer pinned = runtime.make_buffer(kDevice, Memory::kPinned, 64, "pinned");
  const Buffer pageable = runtime.make_buffer(kDevice, Memory::kPageable, 64, "pageable");
  run([&](Host& host) {
    const auto all = [](Buffer buffer) { return Region::flat(buffer, 0, 64); };
    host.copy(a, "up", all(device), all(pinned));
    host.copy(a, "down", all(pinned), all(device));
    host.copy(a, "across", Region::flat(device, 0, 32), Region::flat(device, 32, 32));
    host.copy(a, "paged", all(pageable), all(device));
  });
  const Timeline& timeline = runtime.timeline();
  ASSERT_EQ(timeline.operations.size(), 4U);
  EXPECT_EQ(timeline.operations[0].kind, OperationKind::kCopyH2D);
  EXPECT_EQ(timeline.operations[1].kind, OperationKind::kCopyD2H);
  EXPECT_EQ(timeline.operations[2].kind, OperationKind::kCopyD2D);
  EXPECT_EQ(timeline.operations[2].bytes, 32U);
  EXPECT_EQ(timeline.operations[3].kind, OperationKind::kCopyD2H);
  // The pageable copy held the host: the log says so after it.
  EXPECT_EQ(timeline.calls.back().type, CallType::kBlock);
  EXPECT_TRUE(timeline.calls.back().implicit);
}

TEST_F(HostTest, CopiesThatCannotBeAreRefused) {
  Runtime& runtime = make();
  const Stream a = stream();
  const Buffer device = runtime.make_buffer(kDevice, Memory::kDevice, 64, "device");
  const Buffer pinned = runtime.make_buffer(kDevice, Memory::kPinned, 64, "pinned");
  run([&](Host& host) {
    const auto refused = [&](Region dst, Region src, const char* text) {
      try {
        host.copy(a, "c", dst, src);
        ADD_FAILURE() << text;
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr(text));
      }
    };
    refused(Region::flat(device, 1, 64), Region::flat(pinned, 0, 64), "ends at byte 65");
    refused(Region::flat(device, 0, 32), Region::flat(pinned, 0, 64), "differ in shape");
    refused(Region::flat(pinned, 0, 8), Region::flat(pinned, 8, 8), "both sides are host memory");
    refused({device, 0, 8, 2, 4}, {pinned, 0, 8, 2, 8}, "region");  // rows that overlap
    refused(Region::flat(Buffer{99}, 0, 8), Region::flat(pinned, 0, 8), "not a buffer");
  });
  EXPECT_THAT(recorded_.asked, IsEmpty());
}

// -- capture ------------------------------------------------------------------------------------

TEST_F(HostTest, ACapturedForkAndJoinKeepsItsOrder) {
  make();
  const Stream a = stream(), b = stream();
  const Event fork = event(), join = event();
  run([&](Host& host) {
    const Graph graph = host.capture(a, {}, "fork", [&](Host& h) {
      launch(h, a, "first");
      h.record(fork, a, "fork");
      h.wait(b, fork, "fork.wait");
      launch(h, b, "side");
      launch(h, a, "main");
      h.record(join, b, "join");
      h.wait(a, join, "join.wait");
      launch(h, a, "last");
    });
    host.launch(graph, a, "graph", {});
  });
  ASSERT_EQ(recorded_.graphs.size(), 1U);
  const std::vector<GraphNode>& nodes = recorded_.graphs[0].nodes;
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_THAT(nodes[0].after, IsEmpty());
  EXPECT_THAT(nodes[1].after, ElementsAre(0));     // side after first
  EXPECT_THAT(nodes[2].after, ElementsAre(0));     // main after first, not after side
  EXPECT_THAT(nodes[3].after, ElementsAre(2, 1));  // last after both
  EXPECT_EQ(nodes[1].lane, 1);
  EXPECT_EQ(nodes[3].lane, 0);
  EXPECT_THAT(recorded_.asked, ElementsAre("s0: begin capture", "s0: run graph"));
}

TEST_F(HostTest, ANativeCaptureSeesTheCallsThemselves) {
  recorded_.native_capture = true;
  make();
  const Stream a = stream();
  run([&](Host& host) {
    host.capture(a, {}, "graph", [&](Host& h) { launch(h, a, "k"); });
    launch(host, a, "after");
    host.synchronize(a, "block");
  });
  // What was captured takes no place in the stream.
  EXPECT_THAT(recorded_.asked,
              ElementsAre("s0: begin capture", "s0: run k", "s0: run after", "block s0@1"));
}

TEST_F(HostTest, ALaunchLogsEachNodeWithItsArguments) {
  Runtime& runtime = make();
  const Stream a = stream();
  const Buffer data = runtime.make_buffer(kDevice, Memory::kDevice, 64, "data");
  const Buffer scratch = runtime.make_buffer(kDevice, Memory::kDevice, 16, "scratch");
  run([&](Host& host) {
    const Access fixed[] = {read(data, 0, 8)};
    const Graph graph = host.capture(a, scratch, "graph", [&](Host& h) {
      h.launch(a, "one", {}, {}, kKernel);
      h.launch(a, "two", {}, fixed, kKernel);
    });
    const Access extra[] = {write(data, 8, 16)};
    const NodeArgs args[] = {{1, {}, extra}};
    host.launch(graph, a, "launch", args);
  });
  const Timeline& timeline = runtime.timeline();
  ASSERT_EQ(timeline.operations.size(), 3U);
  EXPECT_EQ(timeline.operations[0].kind, OperationKind::kGraph);
  ASSERT_EQ(timeline.accesses_of(timeline.operations[0]).size(), 1U);  // all of the scratch memory
  EXPECT_EQ(timeline.accesses_of(timeline.operations[0])[0].end, 16U);
  EXPECT_EQ(timeline.operations[2].kind, OperationKind::kGraphNode);
  const auto accesses = timeline.accesses_of(timeline.operations[2]);
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_FALSE(accesses[0].write);
  EXPECT_TRUE(accesses[1].write);
  EXPECT_EQ(accesses[1].begin, 8U);
}

TEST_F(HostTest, NodeArgumentsPastTheGraphAreRefused) {
  make();
  const Stream a = stream();
  expect_usage_error(
      [&](Host& host) {
        const Graph graph = host.capture(a, {}, "g", [&](Host& h) { launch(h, a); });
        const NodeArgs args[] = {{1, {}, {}}};
        host.launch(graph, a, "launch", args);
      },
      "past its last node");
}

TEST_F(HostTest, TheLegacyDefaultStreamCannotBeCaptured) {
  make();
  const Stream standard = stream(StreamKind::kLegacyDefault);
  expect_usage_error(
      [&](Host& host) { host.capture(standard, {}, "g", [&](Host& h) { launch(h, standard); }); },
      "legacy default stream");
}

TEST_F(HostTest, ACaptureCannotWaitForAnEventOfOutside) {
  make();
  const Stream a = stream(), b = stream();
  const Event e = event();
  expect_usage_error(
      [&](Host& host) {
        launch(host, b);
        host.record(e, b, "outside");
        host.capture(a, {}, "g", [&](Host& h) { h.wait(a, e, "inside"); });
      },
      "outside the capture");
}

TEST_F(HostTest, OutsideNothingWaitsForAnEventOfACapture) {
  make();
  const Stream a = stream(), b = stream();
  const Event e = event();
  expect_usage_error(
      [&](Host& host) {
        host.capture(a, {}, "g", [&](Host& h) {
          launch(h, a);
          h.record(e, a, "inside");
        });
        host.wait(b, e, "outside");
      },
      "inside a capture");
}

TEST_F(HostTest, AStreamLeftUnjoinedIsNamed) {
  make();
  const Stream a = stream(), b = stream();
  const Event e = event();
  expect_usage_error(
      [&](Host& host) {
        host.capture(a, {}, "g", [&](Host& h) {
          launch(h, a);
          h.record(e, a, "fork");
          h.wait(b, e, "wait");
          launch(h, b, "loose");
        });
      },
      "'loose' is not joined");
}

TEST_F(HostTest, WhatMayNotBeCapturedIsRefused) {
  make();
  const Stream a = stream(), other = stream();
  const Event e = event();
  const std::pair<const char*, std::function<void(Host&)>> cases[] = {
      {"synchronize", [&](Host& h) { h.synchronize(a, "s"); }},
      {"query", [&](Host& h) { (void)h.query(e, "q"); }},
      {"span", [&](Host& h) { h.span("s", {}, [] { return Cost{}; }); }},
      {"capture", [&](Host& h) { h.capture(other, {}, "inner", [](Host&) {}); }},
      {"not part of the capture", [&](Host& h) { launch(h, other); }},
      {"holds no operation", [](Host&) {}},
  };
  for (const auto& [text, body] : cases) {
    make();
    stream(), stream(), event();
    expect_usage_error([&](Host& host) { host.capture(a, {}, "g", body); }, text);
  }
}

TEST_F(HostTest, AFailedCaptureLeavesTheHostUsable) {
  make();
  const Stream a = stream();
  run([&](Host& host) {
    EXPECT_THROW(host.capture(a, {}, "g", [&](Host& h) { h.synchronize(a, "s"); }), UsageError);
    launch(host, a, "after");
  });
  EXPECT_THAT(recorded_.asked, ElementsAre("s0: begin capture", "s0: run after"));
}

// -- the log ------------------------------------------------------------------------------------

TEST_F(HostTest, SpansKeepTheirTimesStepAndAccesses) {
  Runtime& runtime = make();
  const Buffer pinned = runtime.make_buffer(kDevice, Memory::kPinned, 64, "pinned");
  run([&](Host& host) {
    host.set_step(7);
    const Access fills[] = {write(pinned, 0, 64)};
    host.span("fill", fills, [&] {
      runtime.host_data(pinned)[3] = std::byte{1};
      return Cost{};
    });
  });
  const Operation& span = runtime.timeline().operations.at(0);
  EXPECT_EQ(span.kind, OperationKind::kHostSpan);
  EXPECT_EQ(span.step, 7);
  EXPECT_EQ(span.start, 10);
  EXPECT_EQ(span.end, 20);
  EXPECT_EQ(span.access_count, 1U);
}

TEST_F(HostTest, TimesAloneKeepNoCallsAndNoAccesses) {
  Runtime& runtime = make({Detail::kTimes, {}});
  const Stream a = stream();
  const Buffer data = runtime.make_buffer(kDevice, Memory::kDevice, 64, "data");
  run([&](Host& host) {
    const Access all[] = {write(data, 0, 64)};
    host.launch(a, "k", {}, all, kKernel);
  });
  EXPECT_EQ(runtime.timeline().operations.size(), 1U);
  EXPECT_THAT(runtime.timeline().calls, IsEmpty());
  EXPECT_THAT(runtime.timeline().accesses, IsEmpty());
}

TEST_F(HostTest, SeveralHostsAreMergedWithTheirIndicesMoved) {
  runtime_ = std::make_unique<Runtime>(std::make_unique<RecordingEngine>(recorded_, 2));
  const Stream a = runtime_->make_stream(Device{0}, StreamKind::kNonBlocking, "a");
  const Stream b = runtime_->make_stream(Device{1}, StreamKind::kNonBlocking, "b");
  const Buffer data = runtime_->make_buffer(Device{0}, Memory::kDevice, 64, "data");
  const Access all[] = {write(data, 0, 64)};
  const HostMain mains[] = {[&](Host& host) { host.launch(a, "zero", {}, all, kKernel); },
                            [&](Host& host) { host.launch(b, "one", {}, all, kKernel); }};
  runtime_->run(mains);
  const Timeline& timeline = runtime_->timeline();
  ASSERT_EQ(timeline.operations.size(), 2U);
  EXPECT_EQ(timeline.hosts, 2);
  EXPECT_EQ(timeline.operations[1].host, 1);
  EXPECT_EQ(timeline.calls.at(1).operation, 1U);
  EXPECT_EQ(timeline.accesses_of(timeline.operations[1]).data(), &timeline.accesses[1]);
}

TEST_F(HostTest, AnErrorKeepsTheTimelineUpToIt) {
  make();
  const Stream a = stream();
  EXPECT_THROW(run([&](Host& host) {
                 launch(host, a);
                 throw std::runtime_error("stop");
               }),
               std::runtime_error);
  EXPECT_EQ(runtime_->timeline().operations.size(), 1U);
}

TEST_F(HostTest, RenewAsksTheEngineAndIsAWriteOfTheHost) {
  Runtime& runtime = make();
  const Buffer data = runtime.make_buffer(kDevice, Memory::kDevice, 24, "data");
  run([&](Host& host) { host.renew(data, "renew"); });
  EXPECT_THAT(recorded_.asked, ElementsAre("renew b0 of 24"));
  const Operation& span = runtime.timeline().operations.at(0);
  EXPECT_EQ(span.kind, OperationKind::kHostSpan);
  EXPECT_EQ(span.start, 30);
  EXPECT_EQ(span.end, 40);
  const Access& whole = runtime.timeline().accesses_of(span)[0];
  EXPECT_TRUE(whole.write);
  EXPECT_EQ(whole.end, 24U);
  EXPECT_EQ(runtime.timeline().calls.at(0).type, CallType::kSpan);
}

TEST_F(HostTest, RenewRefusesWhatIsNotItsDevicesMemoryAndWhatAGraphHolds) {
  const auto device_buffer = [&] {
    return runtime_->make_buffer(kDevice, Memory::kDevice, 8, "device");
  };
  make();
  const Buffer pinned = runtime_->make_buffer(kDevice, Memory::kPinned, 8, "pinned");
  expect_usage_error([&](Host& host) { host.renew(pinned, "r"); }, "'pinned' is not memory of");
  make();
  const Buffer data = device_buffer();
  const Stream a = stream();
  expect_usage_error(
      [&](Host& host) {
        host.capture(a, {}, "g", [&](Host& h) {
          launch(h, a);
          h.renew(data, "r");
        });
      },
      "renew during a capture");
  make();
  const Buffer held = device_buffer();
  const Buffer other = device_buffer();
  const Stream b = stream();
  expect_usage_error(
      [&](Host& host) {
        const Access touches[] = {read(held, 0, 8)};
        host.capture(b, {}, "g", [&](Host& h) { h.launch(b, "k", {}, touches, kKernel); });
        host.renew(other, "r");
        host.renew(held, "r");
      },
      "a graph holds the address of buffer 'device'");
}

}  // namespace
}  // namespace syncopate::runtime
