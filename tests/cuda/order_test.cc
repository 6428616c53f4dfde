#include <cstdint>
#include <stdexcept>

#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Buffer;
using runtime::Event;
using runtime::Flag;
using runtime::Host;
using runtime::Memory;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;

constexpr runtime::Nanos kAWhile = 5'000'000;  // time enough for a wrong order to show

// Two streams, a gate, and a word in device memory with its copy on the host.
class CudaOrderTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    runtime_ = std::make_unique<runtime::Runtime>(make_cuda_engine({}));
    gate_ = std::make_unique<Gate>(*runtime_);
    word_ = runtime_->make_buffer(kDevice, Memory::kDevice, 4, "word");
    seen_ = runtime_->make_buffer(kDevice, Memory::kPinned, 4, "seen");
    event_ = event();
  }

  Stream stream(StreamKind kind = StreamKind::kNonBlocking) {
    return runtime_->make_stream(kDevice, kind, "stream");
  }
  Event event() { return runtime_->make_event(kDevice); }
  std::uint32_t seen() { return *runtime_->host_data<std::uint32_t>(seen_); }
  void fetch(Host& host, Stream stream) {
    host.copy(stream, "fetch", Region::flat(seen_, 0, 4), Region::flat(word_, 0, 4));
  }

  // Work in `second`, enqueued after a closed gate in `first`, waits for it.
  void expect_waits(Stream first, Stream second) {
    run(*runtime_, [&](Host& host) {
      gate_->close(host, first);
      launch(host, second, fill_body(word_, 1, 1));
      host.record(event_, second, "filled");
      host.busy("a while", kAWhile);
      EXPECT_FALSE(host.query(event_, "held"));
      gate_->open();
      host.synchronize(event_, "end");
    });
    EXPECT_FALSE(gate_->timed_out());
  }
  // Work in `second`, enqueued after a closed gate in `first`, does not wait for it.
  void expect_passes(Stream first, Stream second) {
    run(*runtime_, [&](Host& host) {
      gate_->close(host, first);
      launch(host, second, fill_body(word_, 1, 1));
      host.record(event_, second, "filled");
      host.synchronize(event_, "end");
      gate_->open();
    });
    EXPECT_FALSE(gate_->timed_out());
  }

  std::unique_ptr<runtime::Runtime> runtime_;
  std::unique_ptr<Gate> gate_;
  Buffer word_, seen_;
  Event event_;
};

TEST_F(CudaOrderTest, StreamsAreNotOrderedWithoutAnEvent) { expect_passes(stream(), stream()); }

TEST_F(CudaOrderTest, AnEventHoldsAStreamAndNotTheHost) {
  const Stream a = stream();
  const Stream b = stream();
  const Event fetched = event();
  run(*runtime_, [&](Host& host) {
    gate_->close(host, a);
    launch(host, a, fill_body(word_, 1, 7));
    host.record(event_, a, "filled");
    host.wait(b, event_, "wait");
    fetch(host, b);
    host.record(fetched, b, "fetched");
    host.busy("a while", kAWhile);
    EXPECT_FALSE(host.query(fetched, "held"));
    gate_->open();
    host.synchronize(fetched, "end");
    EXPECT_EQ(seen(), 7U);
  });
  EXPECT_FALSE(gate_->timed_out());
}

TEST_F(CudaOrderTest, AWaitKeepsTheRecordThatItWasBoundTo) {
  const Stream a = stream();
  const Stream b = stream();
  run(*runtime_, [&](Host& host) {
    launch(host, a, fill_body(word_, 1, 1));
    host.record(event_, a, "first");
    host.wait(b, event_, "wait");
    gate_->close(host, a);
    host.record(event_, a, "second");
    fetch(host, b);
    host.synchronize(b, "end");  // would wait for the gate if the second record counted
    EXPECT_EQ(seen(), 1U);
    EXPECT_FALSE(host.query(event_, "newest"));
    gate_->open();
  });
  EXPECT_FALSE(gate_->timed_out());
}

TEST_F(CudaOrderTest, ANeverRecordedEventOrdersNothing) {
  const Stream a = stream();
  const Stream b = stream();
  run(*runtime_, [&](Host& host) {
    gate_->close(host, a);
    host.wait(b, event_, "wait");
    host.synchronize(event_, "nothing");
    EXPECT_TRUE(host.query(event_, "nothing"));
    launch(host, b, fill_body(word_, 1, 1));
    host.synchronize(b, "end");
    gate_->open();
  });
  EXPECT_FALSE(gate_->timed_out());
}

TEST_F(CudaOrderTest, ABlockingStreamWaitsForTheDefaultStream) {
  expect_waits(stream(StreamKind::kLegacyDefault), stream(StreamKind::kBlocking));
}

TEST_F(CudaOrderTest, TheDefaultStreamWaitsForABlockingStream) {
  expect_waits(stream(StreamKind::kBlocking), stream(StreamKind::kLegacyDefault));
}

TEST_F(CudaOrderTest, ANonBlockingStreamPassesTheDefaultStream) {
  expect_passes(stream(StreamKind::kLegacyDefault), stream(StreamKind::kNonBlocking));
}

TEST_F(CudaOrderTest, TheDefaultStreamPassesANonBlockingStream) {
  expect_passes(stream(StreamKind::kNonBlocking), stream(StreamKind::kLegacyDefault));
}

TEST_F(CudaOrderTest, BlockingStreamsPassEachOther) {
  expect_passes(stream(StreamKind::kBlocking), stream(StreamKind::kBlocking));
}

TEST_F(CudaOrderTest, AFlagHoldsAStreamUntilItsValueIsReached) {
  const Stream a = stream();
  const Stream b = stream();
  const Flag flag = runtime_->make_flag();
  run(*runtime_, [&](Host& host) {
    host.wait(b, flag, 3, "wait");
    fetch(host, b);
    host.record(event_, b, "fetched");
    host.signal(a, flag, 2, "two");
    host.synchronize(a, "two is set");
    host.busy("a while", kAWhile);
    EXPECT_FALSE(host.query(event_, "held"));
    launch(host, a, fill_body(word_, 1, 9));
    host.signal(a, flag, 4, "four");
    host.synchronize(event_, "end");
    EXPECT_EQ(seen(), 9U);
    host.wait(b, flag, 1, "long past");
    host.synchronize(b, "end");
  });
}

TEST_F(CudaOrderTest, FlagsAreIndependentOfEachOther) {
  const Stream a = stream();
  const Stream b = stream();
  std::vector<Flag> flags;
  for (int i = 0; i < 100; ++i) flags.push_back(runtime_->make_flag());
  run(*runtime_, [&](Host& host) {
    for (std::size_t i = 0; i + 1 < flags.size(); ++i) host.signal(a, flags[i], i + 1, "signal");
    host.synchronize(a, "all but the last");
    for (std::size_t i = 0; i + 1 < flags.size(); ++i) host.wait(b, flags[i], i + 1, "wait");
    host.synchronize(b, "all but the last");
    host.wait(b, flags.back(), 1, "last");
    host.record(event_, b, "last");
    host.busy("a while", kAWhile);
    EXPECT_FALSE(host.query(event_, "held"));
    host.signal(a, flags.back(), 1, "last");
    host.synchronize(event_, "end");
  });
}

TEST_F(CudaOrderTest, AFailedHostLeavesNoStreamWaitingForItsFlags) {
  const Stream a = stream();
  const Flag flag = runtime_->make_flag();
  EXPECT_THROW(run(*runtime_,
                   [&](Host& host) {
                     host.wait(a, flag, 5, "wait");
                     throw std::out_of_range("before the signal");
                   }),
               std::out_of_range);
}

class CudaTwoHostsTest : public TwoDevicesTest {};

TEST_F(CudaTwoHostsTest, FlagsOrderStreamsOfDifferentDevices) {
  runtime::Runtime runtime = make_runtime(2);
  const runtime::Device devices[2] = {runtime::Device{0}, runtime::Device{1}};
  Stream streams[2];
  Buffer words[2];
  Buffer seen[2];
  for (int i = 0; i < 2; ++i) {
    streams[i] = runtime.make_stream(devices[i], StreamKind::kNonBlocking, "stream");
    words[i] = runtime.make_buffer(devices[i], Memory::kDevice, 4, "word");
    seen[i] = runtime.make_buffer(devices[i], Memory::kPinned, 4, "seen");
  }
  const Flag filled = runtime.make_flag();
  const runtime::HostMain mains[2] = {
      [&](Host& host) {
        launch(host, streams[0], spin_body(1'000'000));
        launch(host, streams[0], fill_body(words[0], 1, 11));
        host.copy(streams[0], "push", Region::flat(words[1], 0, 4), Region::flat(words[0], 0, 4));
        host.signal(streams[0], filled, 1, "filled");
      },
      [&](Host& host) {
        host.wait(streams[1], filled, 1, "wait");
        host.copy(streams[1], "fetch", Region::flat(seen[1], 0, 4), Region::flat(words[1], 0, 4));
        host.synchronize(streams[1], "end");
      }};
  runtime.run(mains);
  EXPECT_EQ(*runtime.host_data<std::uint32_t>(seen[1]), 11U);
}

TEST_F(CudaTwoHostsTest, AFailedHostReleasesTheOther) {
  runtime::Runtime runtime = make_runtime(2);
  const Stream stream = runtime.make_stream(runtime::Device{1}, StreamKind::kNonBlocking, "stream");
  const Flag flag = runtime.make_flag();
  const runtime::HostMain mains[2] = {[&](Host&) { throw std::out_of_range("before the signal"); },
                                      [&](Host& host) {
                                        host.wait(stream, flag, 1, "wait");
                                        host.synchronize(stream, "end");
                                      }};
  EXPECT_THROW(runtime.run(mains), std::out_of_range);
}

}  // namespace
}  // namespace syncopate::cuda
