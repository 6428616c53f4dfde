// What CUPTI records of a run, and which operation each record is put under.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Activity;
using runtime::ActivityKind;
using runtime::Buffer;
using runtime::Event;
using runtime::Graph;
using runtime::Host;
using runtime::Memory;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;
using runtime::Timeline;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Nanos kClockError = 200'000;  // many times what tying two clocks errs by

class CudaActivityTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !activities_missing().empty()) GTEST_SKIP() << "skipped: no CUPTI";
  }

  void start(const ActivityOptions& options = {}) {
    runtime_ = std::make_unique<runtime::Runtime>(make_cuda_engine({.activities = options}));
    stream_ = runtime_->make_stream(kDevice, StreamKind::kNonBlocking, "stream");
    side_ = runtime_->make_stream(kDevice, StreamKind::kNonBlocking, "side");
    device_ = runtime_->make_buffer(kDevice, Memory::kDevice, 4000, "device");
    pinned_ = runtime_->make_buffer(kDevice, Memory::kPinned, 4000, "pinned");
  }
  const Timeline& timeline() const { return runtime_->timeline(); }
  const runtime::Activities& activities() const { return timeline().activities.value(); }

  std::vector<Activity> of(std::uint32_t operation, ActivityKind kind) const {
    std::vector<Activity> found;
    std::ranges::copy_if(activities().records, std::back_inserter(found), [&](const Activity& a) {
      return a.operation == operation && a.kind == kind;
    });
    return found;
  }
  /// Index of the first operation of that name.
  std::uint32_t named(const std::string& name) const {
    const auto found = std::ranges::find_if(timeline().operations,
                                            [&](const Operation& op) { return op.name == name; });
    return static_cast<std::uint32_t>(found - timeline().operations.begin());
  }
  static Region flat(Buffer buffer) { return Region::flat(buffer, 0, 4000); }

  std::unique_ptr<runtime::Runtime> runtime_;
  Stream stream_, side_;
  Buffer device_, pinned_;
};

TEST_F(CudaActivityTest, AnOperationHasItsKernelAndTheCallThatLaunchedIt) {
  start();
  run(*runtime_, [&](Host& host) {
    launch(host, stream_, spin_body(100'000), "spin");
    launch(host, side_, fill_body(device_, 1000, 1), "fill");
  });
  const auto kernels = of(named("fill"), ActivityKind::kKernel);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_THAT(kernels[0].name, HasSubstr("fill("));
  EXPECT_EQ(kernels[0].stream, side_);
  const auto calls = of(named("fill"), ActivityKind::kRuntimeCall);
  const auto call = std::ranges::find(calls, std::string("cudaLaunchKernel"), &Activity::name);
  ASSERT_NE(call, calls.end());
  EXPECT_EQ(call->correlation, kernels[0].correlation);
  EXPECT_EQ(activities().dropped, 0U);
}

TEST_F(CudaActivityTest, RecordsAreOnTheTimelinesClock) {
  start();
  run(*runtime_, [&](Host& host) {
    for (int i = 0; i < 200; ++i) {
      launch(host, stream_, spin_body(200'000), "spin");
      host.synchronize(stream_, "wait");
    }
  });
  const auto& operations = timeline().operations;
  int kernels = 0;
  Nanos farthest = 0;
  for (const Activity& activity : activities().records) {
    if (activity.kind != ActivityKind::kKernel) continue;
    ++kernels;
    ASSERT_LT(activity.operation, operations.size());
    const Operation& op = operations[activity.operation];
    EXPECT_STREQ(op.name, "spin");
    EXPECT_GE(activity.end - activity.start, 190'000);
    farthest =
        std::max({farthest, std::abs(op.start - activity.start), std::abs(op.end - activity.end)});
  }
  EXPECT_EQ(kernels, 200);
  EXPECT_LE(farthest, kClockError);
  RecordProperty("farthest_ns", static_cast<int>(farthest));
}

TEST_F(CudaActivityTest, CopiesHaveTheirBytesAndBlocksTheirWaits) {
  start();
  const Event done = runtime_->make_event(kDevice);
  run(*runtime_, [&](Host& host) {
    launch(host, stream_, spin_body(2'000'000), "spin");
    host.copy(stream_, "fetch", flat(pinned_), flat(device_));
    host.record(done, stream_, "done");
    host.synchronize(done, "block");
  });
  const auto copies = of(named("fetch"), ActivityKind::kCopy);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_STREQ(copies[0].name, "Memcpy DtoH (Device -> Pinned)");
  EXPECT_EQ(copies[0].bytes, 4000U);
  // What the engine itself asks of events there takes no time.
  auto waits = of(named("block"), ActivityKind::kSync);
  std::erase_if(waits, [](const Activity& wait) { return wait.end - wait.start < 1'000'000; });
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_STREQ(waits[0].name, "Event Sync");
}

TEST_F(CudaActivityTest, WorkOfAGraphBelongsToItsLaunchAndItsNodes) {
  start();
  const Event fork = runtime_->make_event(kDevice);
  const Event join = runtime_->make_event(kDevice);
  run(*runtime_, [&](Host& host) {
    const Graph graph = host.capture(stream_, Buffer{}, "graph", [&](Host& h) {
      h.copy(stream_, "in", flat(device_), flat(pinned_));
      h.record(fork, stream_, "fork");
      h.wait(side_, fork, "fork");
      launch(h, side_, spin_body(50'000), "long");
      launch(h, stream_, fill_body(device_, 1000, 1), "fill");
      h.record(join, side_, "join");
      h.wait(stream_, join, "join");
      h.copy(stream_, "out", flat(pinned_), flat(device_));
    });
    for (int i = 0; i < 3; ++i) host.launch(graph, stream_, "replay", {});
  });
  int launches = 0;
  for (std::uint32_t i = 0; i < timeline().operations.size(); ++i) {
    if (timeline().operations[i].kind != OperationKind::kGraph) continue;
    ++launches;
    const auto nodes_of = [&](ActivityKind kind) {
      std::vector<int> nodes;
      for (const Activity& activity : of(i, kind)) nodes.push_back(activity.node);
      std::ranges::sort(nodes);
      return nodes;
    };
    EXPECT_THAT(nodes_of(ActivityKind::kKernel), ElementsAre(1, 2));
    EXPECT_THAT(nodes_of(ActivityKind::kCopy), ElementsAre(0, 3));
    for (const Activity& kernel : of(i, ActivityKind::kKernel)) {
      EXPECT_THAT(kernel.name, HasSubstr(kernel.node == 1 ? "spin(" : "fill("));
    }
  }
  EXPECT_EQ(launches, 3);
}

TEST_F(CudaActivityTest, OnlyTheWindowsStepsAreRecordedAndThoseWhole) {
  start({.first_step = 5, .last_step = 8});
  run(*runtime_, [&](Host& host) {
    for (int step = 0; step < 40; ++step) {
      host.set_step(step);
      launch(host, stream_, spin_body(20'000), "spin");
      if (step % 2 == 1) host.synchronize(stream_, "now and then");
    }
  });
  std::vector<int> kernels(40);
  for (const Activity& activity : activities().records) {
    if (activity.kind == ActivityKind::kKernel && activity.operation != Activity::kNoOperation) {
      ++kernels[static_cast<std::size_t>(timeline().operations[activity.operation].step)];
    }
  }
  // Recording ends a little later, when the host has seen that the window's work is done.
  EXPECT_THAT(std::vector(kernels.begin(), kernels.begin() + 5), testing::Each(0));
  EXPECT_THAT(std::vector(kernels.begin() + 5, kernels.begin() + 9), testing::Each(1));
  EXPECT_THAT(std::vector(kernels.begin() + 20, kernels.end()), testing::Each(0));
}

TEST_F(CudaActivityTest, RecordsWithoutRoomAreCounted) {
  start({.buffers = 1, .buffer_bytes = std::size_t{64} << 10});
  run(*runtime_, [&](Host& host) {
    for (int i = 0; i < 3000; ++i) launch(host, stream_, spin_body(0), "spin");
  });
  EXPECT_GT(activities().dropped, 0U);
  EXPECT_LT(activities().records.size(), 3000U);
}

TEST_F(CudaActivityTest, ARunWithoutThemHasNone) {
  runtime::Runtime runtime = make_runtime();
  run(runtime, [](Host&) {});
  EXPECT_FALSE(runtime.timeline().activities.has_value());
}

}  // namespace
}  // namespace syncopate::cuda
