#include "backend/cuda/stamps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "backend/cuda/event.h"
#include "backend/cuda/stream.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Event;
using runtime::Host;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Stream;
using runtime::StreamKind;

class CudaStampsTest : public CudaTest {};

// How far the two clocks may be apart: many times what tying them errs by.
constexpr Nanos kClockError = 200'000;
constexpr Nanos kSpin = 200'000;
constexpr Nanos kResolution = 1000;  // twice what CUDA promises of an event

TEST_F(CudaStampsTest, OperationsOfAStreamDoNotOverlapAndLieWithinTheRun) {
  runtime::Runtime runtime = make_runtime();
  const Stream streams[2] = {runtime.make_stream(kDevice, StreamKind::kNonBlocking, "a"),
                             runtime.make_stream(kDevice, StreamKind::kNonBlocking, "b")};
  run(runtime, [&](Host& host) {
    for (int i = 0; i < 400; ++i) {
      launch(host, streams[i % 3 == 0], spin_body(static_cast<std::uint64_t>(i % 7) * 5000));
      if (i % 50 == 49) host.synchronize(streams[0], "now and then");
    }
  });

  std::map<std::uint32_t, Nanos> stream_end;
  int kernels = 0;
  for (const Operation& operation : runtime.timeline().operations) {
    if (operation.kind != OperationKind::kKernel) continue;
    ++kernels;
    ASSERT_NE(operation.start, runtime::kUnknownTime);
    ASSERT_LE(operation.start, operation.end);
    ASSERT_GE(operation.start, stream_end[operation.stream.id]);
    ASSERT_GE(operation.start, operation.issue_begin - kClockError);
    ASSERT_LE(operation.end, runtime.timeline().end + kClockError);
    stream_end[operation.stream.id] = operation.end;
  }
  EXPECT_EQ(kernels, 400);
}

TEST_F(CudaStampsTest, AKernelTakesAtLeastAsLongAsItSpins) {
  runtime::Runtime runtime = make_runtime();
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  run(runtime, [&](Host& host) {
    for (int i = 0; i < 20; ++i) launch(host, stream, spin_body(kSpin));
  });
  for (const Operation& operation : runtime.timeline().operations) {
    EXPECT_GE(operation.end - operation.start, kSpin * 95 / 100);
  }
}

TEST_F(CudaStampsTest, WorkThatWaitsForAnEventStartsAfterWhatTheEventMarks) {
  runtime::Runtime runtime = make_runtime();
  const Stream a = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "a");
  const Stream b = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "b");
  const Event event = runtime.make_event(kDevice);
  run(runtime, [&](Host& host) {
    for (int i = 0; i < 20; ++i) {
      launch(host, a, spin_body(kSpin), "first");
      host.record(event, a, "record");
      host.wait(b, event, "wait");
      launch(host, b, spin_body(1000), "second");
    }
  });
  const auto& operations = runtime.timeline().operations;
  for (std::size_t i = 0; i + 1 < operations.size(); i += 2) {
    EXPECT_GE(operations[i + 1].start + kResolution, operations[i].end) << "operation " << i;
  }
}

TEST_F(CudaStampsTest, AShortOperationBesideALongOneEndsFirst) {
  runtime::Runtime runtime = make_runtime();
  const Stream a = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "a");
  const Stream b = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "b");
  // Longer than times are measured from one base, so that the second lies before its own.
  constexpr Nanos kLong = 250'000'000;
  run(runtime, [&](Host& host) {
    launch(host, a, spin_body(kLong), "long");
    launch(host, b, spin_body(kSpin), "short");
    launch(host, a, spin_body(kSpin), "last");
  });
  const auto& operations = runtime.timeline().operations;
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_GE(operations[1].start + kClockError, operations[1].issue_begin);
  EXPECT_LT(operations[1].end, operations[0].start + kLong / 2);
  EXPECT_GE(operations[1].end - operations[1].start, kSpin * 95 / 100);
  EXPECT_GE(operations[2].start, operations[0].end);
}

TEST_F(CudaStampsTest, ABlockEndsAfterWhatItWaitedFor) {
  runtime::Runtime runtime = make_runtime();
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  run(runtime, [&](Host& host) {
    for (int i = 0; i < 20; ++i) {
      launch(host, stream, spin_body(kSpin));
      host.synchronize(stream, "block");
    }
  });
  const auto& operations = runtime.timeline().operations;
  for (std::size_t i = 0; i + 1 < operations.size(); i += 2) {
    ASSERT_EQ(operations[i + 1].kind, OperationKind::kHostBlock);
    EXPECT_LE(operations[i].end, operations[i + 1].end + kClockError);
    EXPECT_LE(operations[i + 1].start, operations[i + 1].end);
  }
}

// The class itself, since a program cannot see its pool.
TEST_F(CudaStampsTest, ALongRunThatWaitsNowAndThenNeedsNoMoreEvents) {
  Stamps stamps;
  runtime::Log<Operation> operations(20'000);
  stamps.attach(operations);
  const OwnedStream stream = make_stream(StreamKind::kNonBlocking);
  stamps.open();
  const std::size_t before = stamps.pool_size();
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const Stamps::Pair pair = stamps.begin(stream.get());
    stamps.end(pair, stream.get(), i, Stream{0});
    if (i % 100 == 99) SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
  }
  SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
  stamps.close();
  EXPECT_EQ(stamps.pool_size(), before);
  for (std::size_t i = 1; i < operations.size(); ++i) {
    ASSERT_GE(operations[i].start, operations[i - 1].end) << "operation " << i;
  }
}

TEST_F(CudaStampsTest, APoolGrowsForWorkThatIsAllInFlight) {
  Stamps stamps;
  runtime::Log<Operation> operations(EventPool::kBlock * 2);
  stamps.attach(operations);
  const OwnedStream stream = make_stream(StreamKind::kNonBlocking);
  stamps.open();
  SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const Stamps::Pair pair = stamps.begin(stream.get());
    stamps.end(pair, stream.get(), i, Stream{0});
  }
  SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream.get()));
  stamps.close();
  const auto unknown = [](const Operation& operation) {
    return operation.start == runtime::kUnknownTime || operation.end == runtime::kUnknownTime;
  };
  EXPECT_TRUE(std::none_of(operations.begin(), operations.end(), unknown));
}

}  // namespace
}  // namespace syncopate::cuda
