// After an error nothing hangs, nothing more runs, and the error says what failed.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "backend/runtime/error.h"
#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Event;
using runtime::Flag;
using runtime::OperationError;

template <class Fn>
void expect_operation_error(Fn&& fn) {
  try {
    fn();
    FAIL() << "no error";
  } catch (const OperationError& error) {
    EXPECT_EQ(error.operation(), "failing");
    EXPECT_NE(std::string(error.what()).find("the reason"), std::string::npos) << error.what();
  }
}

TEST(CpuFailure, OfAnOperationEndsTheRun) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "before", store(out, 0, 1));
      host.synchronize(stream, "before");
      launch(host, stream, "failing", fail());
    }});
  });
  const auto& operations = runtime->timeline().operations;
  ASSERT_FALSE(operations.empty());
  EXPECT_GE(operations[0].end, operations[0].start) << "the work before it keeps its times";
  EXPECT_GE(operations[0].start, 0);
  EXPECT_EQ(operations.back().start, runtime::kUnknownTime);
}

TEST(CpuFailure, KeepsLaterOperationsFromRunning) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  Gate gate;
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "gate", gate.kernel());
      launch(host, stream, "failing", fail());
      launch(host, stream, "after", store(out, 0, 1));
      gate.open();
    }});
  });
  EXPECT_EQ(*runtime->host_data<int>(out), 0);
}

TEST(CpuFailure, ReachesTheHostThatBlocksOnTheStream) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  bool reached = false;
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "failing", fail());
      expect_operation_error([&] { host.synchronize(stream, "block"); });
      expect_operation_error([&] { launch(host, stream, "after", fail()); });
      reached = true;
    }});
  });
  EXPECT_TRUE(reached);
}

TEST(CpuFailure, ReachesTheHostThatPolls) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Event event = runtime->make_event(kDevice0);
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "failing", fail());
      host.record(event, stream, "record");
      expect_operation_error([&] {
        while (!host.query(event, "query")) {
        }
      });
    }});
  });
}

TEST(CpuFailure, ReleasesAHostThatWaitsForRoom) {
  const auto runtime = make_runtime(1, {.queue_capacity = 2});
  const Stream stream = make_stream(*runtime);
  Gate gate;
  std::thread opener([&] {
    pause();
    gate.open();
  });
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "gate", gate.kernel());
      launch(host, stream, "failing", fail());
      expect_operation_error([&] {
        for (;;) launch(host, stream, "more", fail());
      });
    }});
  });
  opener.join();
}

TEST(CpuFailure, ReleasesStreamsAndHostsThatWaitForOthers) {
  const auto runtime = make_runtime(2);
  const Stream failing = make_stream(*runtime);
  const Stream by_event = make_stream(*runtime);
  const Stream by_flag = make_stream(*runtime, kDevice1);
  const Event event = runtime->make_event(kDevice0);
  const Flag never = runtime->make_flag();
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
                     launch(host, failing, "failing", fail());
                     host.record(event, failing, "record");
                     host.wait(by_event, event, "wait");
                     host.synchronize(by_event, "block");
                   },
                   [&](Host& host) {
                     host.wait(by_flag, never, 1, "wait");
                     expect_operation_error([&] { host.synchronize(by_flag, "block"); });
                   }});
  });
}

TEST(CpuFailure, ReleasesAHostThatBlocksOnAFlag) {
  const auto runtime = make_runtime(2);
  const Stream failing = make_stream(*runtime);
  const Flag never = runtime->make_flag();
  expect_operation_error([&] {
    run(*runtime,
        {[&](Host& host) { launch(host, failing, "failing", fail()); },
         [&](Host& host) { expect_operation_error([&] { host.synchronize(never, 1, "meet"); }); }});
  });
}

TEST(CpuFailure, OfAHostComesOutAsItWasThrown) {
  const auto runtime = make_runtime();
  EXPECT_THROW(run(*runtime, {[](Host&) { throw std::out_of_range("mine"); }}), std::out_of_range);
}

TEST(CpuFailure, OfAHostReleasesTheOthers) {
  const auto runtime = make_runtime(2);
  const Stream stream = make_stream(*runtime, kDevice1);
  const Flag never = runtime->make_flag();
  std::string told;
  EXPECT_THROW(run(*runtime, {[](Host&) { throw std::out_of_range("mine"); },
                              [&](Host& host) {
                                try {
                                  host.wait(stream, never, 1, "wait");
                                  host.synchronize(stream, "block");
                                } catch (const runtime::Error& error) {
                                  told = error.what();
                                }
                              }}),
               std::out_of_range);
  EXPECT_NE(told.find("host 0"), std::string::npos) << told;
  EXPECT_NE(told.find("mine"), std::string::npos) << told;
}

TEST(CpuFailure, WakesAHostThatSleeps) {
  const auto runtime = make_runtime(2);
  constexpr runtime::Nanos kHour = 3'600'000'000'000;
  EXPECT_THROW(run(*runtime, {[](Host&) { throw std::out_of_range("mine"); },
                              [&](Host& host) { host.sleep_until(kHour); }}),
               std::out_of_range);
}

TEST(CpuFailure, IsTheFirstOne) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  expect_operation_error([&] {
    run(*runtime, {[&](Host& host) {
      launch(host, stream, "failing", fail());
      launch(host, stream, "failing too", fail());
      try {
        host.synchronize(stream, "block");
      } catch (const OperationError&) {
        throw std::out_of_range("a consequence");
      }
    }});
  });
}

TEST(CpuEngine, RefusesOptionsOutOfRange) {
  EXPECT_THROW(make_cpu_engine({}, 0), runtime::UsageError);
  EXPECT_THROW(make_cpu_engine({.queue_capacity = 0}, 1), runtime::UsageError);
}

TEST(CpuEngine, MayBeDestroyedWithoutARun) {
  const auto runtime = make_runtime();
  make_stream(*runtime);
}

}  // namespace
}  // namespace syncopate::cpu::toy
