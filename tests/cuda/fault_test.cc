// Errors that a process does not recover from, each in a process of its own.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "backend/cuda/call.h"
#include "backend/runtime/error.h"
#include "tests/batching/faulty_model.h"
#include "tests/batching/workload.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

class CudaFaultTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program of its own: CUDA cannot be forked
  }
};

/// Runs `fn`; a CudaError's text goes to standard error, and the process exits with 3.
template <class Fn>
[[noreturn]] void exit_with_error(Fn&& fn) {
  try {
    fn();
  } catch (const CudaError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(3);
  }
  std::_Exit(0);
}

TEST_F(CudaFaultTest, AKernelThatFaultsEndsTheRunWithCudasMessageAndItsPlace) {
  const auto fault = [] {
    runtime::Runtime runtime = make_runtime();
    const runtime::Stream stream =
        runtime.make_stream(kDevice, runtime::StreamKind::kNonBlocking, "stream");
    run(runtime, [&](runtime::Host& host) {
      launch(host, stream, fault_body(), "fault");
      host.synchronize(stream, "wait");
    });
  };
  EXPECT_EXIT(
      exit_with_error(fault), testing::ExitedWithCode(3),
      "[a-z]+\\.(cc|h):[0-9]+: cuda[A-Z][A-Za-z]+\\(.*\\) failed: an illegal memory access");
}

TEST_F(CudaFaultTest, AfterAFaultTheStepsBeforeItAreKnown) {
  const auto fault = [] {
    const batching::Workload workload = batching::plain_workload(3, 4, 12);
    const models::hash::HashModel model(workload.model);
    const batching::FaultyModel faulty(model, {.host = {}, .cuda = fault_body()}, 6);
    runtime::Runtime runtime(make_cuda_engine({}));
    batching::BatcherOptions options;
    options.strategy = batching::StrategyKind::kOrdered;
    options.graphs = false;
    std::uint64_t finished = 0;
    options.on_step = [&finished](std::uint64_t steps, std::uint64_t) { finished = steps; };
    batching::Batcher batcher(runtime, kDevice, faulty, workload.limits, options,
                              workload.requests);
    const auto expected = batching::expected_tokens(workload);
    try {
      run(runtime, [&](runtime::Host& host) { batcher.run(host); });
    } catch (...) {
      const auto known = batcher.result(1).tokens;
      const bool right =
          known.size() == 6 && std::ranges::equal(known, std::span(expected[1]).first(6));
      std::fprintf(stderr, "%d steps, tokens %s, ", static_cast<int>(finished),
                   right ? "right" : "wrong");
      throw;
    }
  };
  EXPECT_EXIT(exit_with_error(fault), testing::ExitedWithCode(3),
              "6 steps, tokens right, .*illegal memory access");
}

TEST_F(CudaFaultTest, WithRecordsOfKernelsTooTheFirstErrorIsTheOneThatIsTold) {
  const auto fault = [] {
    runtime::Runtime runtime(make_cuda_engine({.activities = ActivityOptions{}}));
    const runtime::Stream stream =
        runtime.make_stream(kDevice, runtime::StreamKind::kNonBlocking, "stream");
    run(runtime, [&](runtime::Host& host) {
      launch(host, stream, spin_body(1000), "fine");
      launch(host, stream, fault_body(), "fault");
      host.synchronize(stream, "wait");
    });
  };
  if (!activities_missing().empty()) GTEST_SKIP() << "skipped: no CUPTI";
  EXPECT_EXIT(exit_with_error(fault), testing::ExitedWithCode(3), "illegal memory access");
}

TEST_F(CudaFaultTest, ASecondEngineIsAUsageErrorWhileThereIsAFirst) {
  auto first = make_cuda_engine({});
  EXPECT_THROW(make_cuda_engine({}), runtime::UsageError);
  first.reset();
  EXPECT_NO_THROW(make_cuda_engine({}));
}

TEST_F(CudaFaultTest, AnEngineThatCouldNotBeMadeLeavesRoomForAnother) {
  EXPECT_THROW(make_cuda_engine({.devices = visible_devices() + 1}), runtime::UnavailableError);
  EXPECT_NO_THROW(make_cuda_engine({}));
}

TEST_F(CudaFaultTest, MemoryThatIsNotThereIsToldWithWhatIsWantedAndWhatIsFree) {
  runtime::Runtime runtime = make_runtime();
  try {
    runtime.make_buffer(kDevice, runtime::Memory::kDevice, std::uint64_t{1} << 46, "too much");
    FAIL() << "nothing was thrown";
  } catch (const runtime::UnavailableError& error) {
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("no 70368744177664 bytes of device memory: [1-9][0-9]* of "
                                      "[1-9][0-9]* are free"));
  }
}

}  // namespace
}  // namespace syncopate::cuda
