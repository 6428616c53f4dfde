#include <cstdint>
#include <stdexcept>

#include "backend/runtime/error.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Buffer;
using runtime::Event;
using runtime::Flag;
using runtime::Graph;
using runtime::Host;
using runtime::Memory;
using runtime::OperationKind;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;

constexpr std::uint32_t kCount = 1000;
constexpr std::uint64_t kBytes = kCount * 4;

class CudaGraphTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    runtime_ = std::make_unique<runtime::Runtime>(make_cuda_engine({}));
    origin_ = runtime_->make_stream(kDevice, StreamKind::kNonBlocking, "origin");
    side_ = runtime_->make_stream(kDevice, StreamKind::kNonBlocking, "side");
    fork_ = runtime_->make_event(kDevice);
    join_ = runtime_->make_event(kDevice);
    x_ = runtime_->make_buffer(kDevice, Memory::kDevice, kBytes, "x");
    y_ = runtime_->make_buffer(kDevice, Memory::kDevice, kBytes, "y");
    z_ = runtime_->make_buffer(kDevice, Memory::kDevice, kBytes, "z");
    host_x_ = runtime_->make_buffer(kDevice, Memory::kPinned, kBytes, "host x");
    host_z_ = runtime_->make_buffer(kDevice, Memory::kPinned, kBytes, "host z");
  }

  static Region whole(Buffer buffer) { return Region::flat(buffer, 0, kBytes); }

  // z = 5 (3 x + 1) + 2 over both streams, from the host and back to it.
  Graph capture_round_trip(Host& host) {
    return host.capture(origin_, Buffer{}, "round trip", [&](Host& h) {
      h.copy(origin_, "in", whole(x_), whole(host_x_));
      h.record(fork_, origin_, "fork");
      h.wait(side_, fork_, "fork");
      launch(h, side_, affine_body(x_, y_, kCount, 3, 1), "y");
      h.record(join_, side_, "join");
      h.wait(origin_, join_, "join");
      launch(h, origin_, affine_body(y_, z_, kCount, 5, 2), "z");
      h.copy(origin_, "out", whole(host_z_), whole(z_));
    });
  }
  void set_input(std::uint32_t base) {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      runtime_->host_data<std::uint32_t>(host_x_)[i] = base + i;
    }
  }
  void expect_output(std::uint32_t base) {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(runtime_->host_data<std::uint32_t>(host_z_)[i], 15 * (base + i) + 7) << "at " << i;
    }
  }

  std::unique_ptr<runtime::Runtime> runtime_;
  Stream origin_, side_;
  Event fork_, join_;
  Buffer x_, y_, z_, host_x_, host_z_;
};

TEST_F(CudaGraphTest, AGraphOfTwoStreamsReadsNewInputsAtEachLaunch) {
  run(*runtime_, [&](Host& host) {
    const Graph graph = capture_round_trip(host);
    EXPECT_EQ(runtime_->host_data<std::uint32_t>(host_z_)[0], 0U) << "a capture runs nothing";
    for (const std::uint32_t base : {10U, 2000U, 77U}) {
      set_input(base);
      host.launch(graph, origin_, "launch", {});
      host.synchronize(origin_, "end");
      expect_output(base);
    }
  });
}

TEST_F(CudaGraphTest, AGraphRunsOnAnotherStreamThanThatOfItsCapture) {
  const Stream other = runtime_->make_stream(kDevice, StreamKind::kBlocking, "other");
  run(*runtime_, [&](Host& host) {
    const Graph graph = capture_round_trip(host);
    set_input(5);
    host.launch(graph, other, "launch", {});
    host.synchronize(other, "end");
    expect_output(5);
  });
}

TEST_F(CudaGraphTest, TwoGraphsOfOneHostAreKeptApart) {
  run(*runtime_, [&](Host& host) {
    const Graph first = capture_round_trip(host);
    const Graph second = host.capture(origin_, Buffer{}, "fill", [&](Host& h) {
      launch(h, origin_, fill_body(z_, kCount, 4), "fill");
      h.copy(origin_, "out", whole(host_z_), whole(z_));
    });
    set_input(3);
    host.launch(first, origin_, "first", {});
    host.synchronize(origin_, "end");
    expect_output(3);
    host.launch(second, origin_, "second", {});
    host.synchronize(origin_, "end");
    EXPECT_EQ(runtime_->host_data<std::uint32_t>(host_z_)[kCount - 1], 4U);
  });
}

TEST_F(CudaGraphTest, ALaunchHasTimesAndItsNodesHaveNone) {
  run(*runtime_, [&](Host& host) {
    const Graph graph = capture_round_trip(host);
    host.launch(graph, origin_, "launch", {});
  });
  int nodes = 0;
  for (const runtime::Operation& operation : runtime_->timeline().operations) {
    if (operation.kind == OperationKind::kGraph) {
      EXPECT_GE(operation.start, 0);
      EXPECT_GE(operation.end, operation.start);
    }
    if (operation.kind == OperationKind::kGraphNode) {
      ++nodes;
      EXPECT_EQ(operation.start, runtime::kUnknownTime);
      EXPECT_EQ(operation.end, runtime::kUnknownTime);
    }
  }
  EXPECT_EQ(nodes, 4);
}

TEST_F(CudaGraphTest, AnEventUsedInACaptureStillStandsForTheWorkOfOutside) {
  Gate gate(*runtime_);
  run(*runtime_, [&](Host& host) {
    gate.close(host, side_);
    host.record(fork_, side_, "outside");
    gate.open();
    const Graph graph = capture_round_trip(host);
    host.synchronize(fork_, "outside");
    set_input(1);
    host.launch(graph, origin_, "launch", {});
    host.record(join_, origin_, "outside");
    host.synchronize(join_, "end");
    expect_output(1);
  });
}

TEST_F(CudaGraphTest, ACapturedWaitHoldsEachLaunchUntilItsFlagIsSet) {
  const Flag flag = runtime_->make_flag();
  run(*runtime_, [&](Host& host) {
    const Graph graph = host.capture(origin_, Buffer{}, "wait", [&](Host& h) {
      h.wait(origin_, flag, 1, "captured");
      launch(h, origin_, fill_body(z_, kCount, 6), "fill");
      h.copy(origin_, "out", whole(host_z_), whole(z_));
    });
    host.launch(graph, origin_, "launch", {});
    host.record(join_, origin_, "launched");
    host.busy("a while", 5'000'000);
    EXPECT_FALSE(host.query(join_, "held"));
    host.signal(side_, flag, 1, "signal");
    host.synchronize(join_, "end");
    EXPECT_EQ(runtime_->host_data<std::uint32_t>(host_z_)[0], 6U);
  });
}

TEST_F(CudaGraphTest, ACapturedSignalIsSetByTheLaunch) {
  const Flag flag = runtime_->make_flag();
  run(*runtime_, [&](Host& host) {
    const Graph graph = host.capture(origin_, Buffer{}, "signal", [&](Host& h) {
      launch(h, origin_, fill_body(z_, kCount, 8), "fill");
      h.signal(origin_, flag, 1, "captured");
    });
    host.wait(side_, flag, 1, "wait");
    host.copy(side_, "out", whole(host_z_), whole(z_));
    host.launch(graph, origin_, "launch", {});
    host.synchronize(side_, "end");
    EXPECT_EQ(runtime_->host_data<std::uint32_t>(host_z_)[0], 8U);
  });
}

TEST_F(CudaGraphTest, AFailedCaptureLeavesItsStreamsUsable) {
  run(*runtime_, [&](Host& host) {
    EXPECT_THROW(host.capture(origin_, Buffer{}, "failing",
                              [&](Host& h) {
                                launch(h, origin_, fill_body(z_, kCount, 1), "fill");
                                h.record(fork_, origin_, "fork");
                                h.wait(side_, fork_, "fork");
                                throw std::out_of_range("inside");
                              }),
                 std::out_of_range);
    const Graph graph = capture_round_trip(host);
    set_input(8);
    host.launch(graph, origin_, "launch", {});
    host.synchronize(origin_, "end");
    expect_output(8);
    launch(host, side_, fill_body(z_, kCount, 1), "fill");
    host.synchronize(side_, "end");
  });
}

TEST_F(CudaGraphTest, AForkThatIsNotJoinedIsRefusedAndLeavesItsStreamsUsable) {
  run(*runtime_, [&](Host& host) {
    EXPECT_THROW(host.capture(origin_, Buffer{}, "loose",
                              [&](Host& h) {
                                launch(h, origin_, fill_body(z_, kCount, 1), "fill");
                                h.record(fork_, origin_, "fork");
                                h.wait(side_, fork_, "fork");
                                launch(h, side_, fill_body(y_, kCount, 1), "loose");
                              }),
                 runtime::UsageError);
    const Graph graph = capture_round_trip(host);
    set_input(9);
    host.launch(graph, origin_, "launch", {});
    host.synchronize(origin_, "end");
    expect_output(9);
  });
}

}  // namespace
}  // namespace syncopate::cuda
