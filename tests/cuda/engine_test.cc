#include "backend/cuda/engine.h"

#include <gmock/gmock.h>

#include <string>

#include "backend/cuda/call.h"
#include "backend/cuda/device.h"
#include "backend/runtime/error.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Host;
using runtime::Memory;
using runtime::Stream;
using runtime::StreamKind;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

template <class E, class Fn>
std::string message_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CudaCall, AFailedCallNamesItselfItsPlaceAndTheReason) {
  int line = 0;
  const std::string message = message_of<CudaError>([&] {
    line = __LINE__ + 1;
    SYNCOPATE_CUDA_CALL(cudaErrorInvalidValue);
  });
  EXPECT_THAT(message,
              AllOf(HasSubstr("engine_test.cc:" + std::to_string(line)),
                    HasSubstr("cudaErrorInvalidValue failed"), HasSubstr("invalid argument")));
}

TEST(CudaCall, AFailedCallKeepsItsCode) {
  try {
    SYNCOPATE_CUDA_CALL(cudaErrorInvalidDevice);
    FAIL() << "nothing was thrown";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
  }
}

TEST(CudaCall, ASuccessfulCallThrowsNothing) {
  EXPECT_NO_THROW(SYNCOPATE_CUDA_CALL(cudaSuccess));
  EXPECT_NO_THROW(SYNCOPATE_CUDA_CALL(CUDA_SUCCESS));
}

TEST(CudaEngine, MoreDevicesThanThereAreIsUnavailable) {
  const std::string message = message_of<runtime::UnavailableError>(
      [] { make_cuda_engine({.devices = visible_devices() + 1}); });
  EXPECT_THAT(message, StartsWith("no CUDA device"));
}

TEST(CudaEngine, NoDeviceAtAllIsAUsageError) {
  EXPECT_THROW(make_cuda_engine({.devices = 0}), runtime::UsageError);
}

TEST(CudaDevice, OneThatIsNotThereCannotBeDescribed) {
  EXPECT_THROW(describe_device(visible_devices()), CudaError);
}

class CudaEngineTest : public CudaTest {};

TEST_F(CudaEngineTest, ItsDeviceHasANameASizeAndCudasVersions) {
  const DeviceDescription device = describe_device(0);
  EXPECT_NE(device.name, "");
  EXPECT_GT(device.memory_bytes, std::size_t{1} << 30);
  EXPECT_GT(device.multiprocessors, 0);
  EXPECT_THAT(device.driver_cuda, testing::MatchesRegex("[0-9]+\\.[0-9]"));
  EXPECT_THAT(device.runtime_cuda, StartsWith(std::to_string(CUDART_VERSION / 1000) + '.'));
}

TEST_F(CudaEngineTest, AFailedDriverCallSaysWhatTheDriverSays) {
  const std::string message =
      message_of<CudaError>([] { SYNCOPATE_CUDA_CALL(CUDA_ERROR_INVALID_VALUE); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("CUDA_ERROR_INVALID_VALUE failed"), HasSubstr("invalid argument")));
}

TEST_F(CudaEngineTest, AKernelWithoutACudaBodyIsAUsageErrorThatNamesIt) {
  runtime::Runtime runtime = make_runtime();
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  const std::string message = message_of<runtime::UsageError>(
      [&] { run(runtime, [&](Host& host) { launch(host, stream, runtime::Body{}, "hollow"); }); });
  EXPECT_THAT(message, HasSubstr("'hollow'"));
}

TEST_F(CudaEngineTest, AKernelThatCannotBeLaunchedIsAnOperationErrorThatNamesIt) {
  runtime::Runtime runtime = make_runtime();
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  try {
    run(runtime, [&](Host& host) { launch(host, stream, impossible_body(), "impossible"); });
    FAIL() << "nothing was thrown";
  } catch (const runtime::OperationError& error) {
    EXPECT_EQ(error.operation(), "impossible");
  }
}

TEST_F(CudaEngineTest, AnErrorKeepsTheTimesOfTheWorkBeforeIt) {
  runtime::Runtime runtime = make_runtime();
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  EXPECT_THROW(run(runtime,
                   [&](Host& host) {
                     launch(host, stream, spin_body(1000), "fine");
                     launch(host, stream, runtime::Body{}, "hollow");
                   }),
               runtime::UsageError);
  const auto& operations = runtime.timeline().operations;
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_GE(operations[0].start, 0);
  EXPECT_EQ(operations[1].start, runtime::kUnknownTime);
}

TEST_F(CudaEngineTest, MemoryThatIsNotThereIsUnavailable) {
  runtime::Runtime runtime = make_runtime();
  const std::uint64_t too_much = std::uint64_t{1} << 46;
  EXPECT_THROW(runtime.make_buffer(kDevice, Memory::kDevice, too_much, "too much"),
               runtime::UnavailableError);
  // And the engine goes on.
  EXPECT_NO_THROW(runtime.make_buffer(kDevice, Memory::kDevice, 16, "little"));
}

TEST_F(CudaEngineTest, ARunEndsWithAllWorkDone) {
  runtime::Runtime runtime = make_runtime();
  const runtime::Buffer word = runtime.make_buffer(kDevice, Memory::kDevice, 4, "word");
  const runtime::Buffer seen = runtime.make_buffer(kDevice, Memory::kPinned, 4, "seen");
  const Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  run(runtime, [&](Host& host) {
    launch(host, stream, spin_body(5'000'000), "spin");
    launch(host, stream, fill_body(word, 1, 3), "fill");
    host.copy(stream, "fetch", runtime::Region::flat(seen, 0, 4),
              runtime::Region::flat(word, 0, 4));
  });
  EXPECT_EQ(*runtime.host_data<std::uint32_t>(seen), 3U);
}

}  // namespace
}  // namespace syncopate::cuda
