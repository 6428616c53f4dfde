// A run in which nothing can go on is a DeadlockError, and a slow one is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "backend/runtime/error.h"
#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::DeadlockError;
using runtime::Flag;
using ::testing::HasSubstr;

const CpuOptions kSoon{.stall_timeout = std::chrono::milliseconds(30)};

template <class Fn>
std::string deadlock_of(Fn&& fn) {
  try {
    fn();
  } catch (const DeadlockError& error) {
    return error.what();
  }
  return "no deadlock";
}

TEST(CpuStall, IsFoundAtTheEndOfTheRun) {
  const auto runtime = make_runtime(1, kSoon);
  const Stream stream = make_stream(*runtime);
  const Flag flag = runtime->make_flag();
  const std::string report = deadlock_of([&] {
    run(*runtime, {[&](Host& host) {
      host.signal(stream, flag, 2, "signal");
      host.wait(stream, flag, 5, "wait");
    }});
  });
  EXPECT_THAT(report, HasSubstr("host 0 has ended"));
  EXPECT_THAT(report, HasSubstr("stream 0 at command 2 waits for flag 0 to be 5, which is 2"));
}

TEST(CpuStall, IsFoundWhileEachHostWaitsForTheOther) {
  const auto runtime = make_runtime(2, kSoon);
  const Stream streams[] = {make_stream(*runtime, kDevice0), make_stream(*runtime, kDevice1)};
  const Stream idle = make_stream(*runtime, kDevice1);
  const Flag flags[] = {runtime->make_flag(), runtime->make_flag()};
  const HostMain main = [&](Host& host) {
    const std::uint32_t id = host.device().id;
    host.wait(streams[id], flags[id], 1, "wait");
    host.signal(streams[id], flags[1 - id], 1, "signal");
    host.synchronize(streams[id], "block");
  };
  const std::string report = deadlock_of([&] { run(*runtime, {main, main}); });
  EXPECT_THAT(report, HasSubstr("host 0 waits for command 2 of stream 0"));
  EXPECT_THAT(report, HasSubstr("host 1 waits for command 2 of stream 1"));
  EXPECT_THAT(report, HasSubstr("stream 0 at command 1 waits for flag 0 to be 1, which is 0"));
  EXPECT_THAT(report, HasSubstr("stream 1 at command 1 waits for flag 1 to be 1, which is 0"));
  EXPECT_THAT(report, HasSubstr("stream 2 is idle after command 0"));
  static_cast<void>(idle);
}

TEST(CpuStall, IsFoundWhileAHostWaitsForRoom) {
  const auto runtime =
      make_runtime(1, {.queue_capacity = 2, .stall_timeout = std::chrono::milliseconds(30)});
  const Stream stream = make_stream(*runtime);
  const Flag flag = runtime->make_flag();
  const std::string report = deadlock_of([&] {
    run(*runtime, {[&](Host& host) {
      host.wait(stream, flag, 1, "wait");
      for (;;) host.signal(stream, flag, 1, "signal");
    }});
  });
  EXPECT_THAT(report, HasSubstr("host 0 waits for room in stream 0, until its command 1 is done"));
}

TEST(CpuStall, IsNotSeenInALongOperation) {
  const auto runtime = make_runtime(1, kSoon);
  const Stream slow = make_stream(*runtime);
  const Stream waiting = make_stream(*runtime);
  const runtime::Event event = runtime->make_event(kDevice0);
  const auto sleep = kernel_of<[](runtime::Exec&, const int&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }>(0);
  run(*runtime, {[&](Host& host) {
    launch(host, slow, "sleep", sleep);
    host.record(event, slow, "record");
    host.wait(waiting, event, "wait");
    host.synchronize(waiting, "block");
  }});
}

TEST(CpuStall, IsNotSeenWhileAHostIsAtWork) {
  const auto runtime = make_runtime(2, kSoon);
  const Stream waiting = make_stream(*runtime, kDevice0);
  const Stream signalling = make_stream(*runtime, kDevice1);
  const Flag flag = runtime->make_flag();
  run(*runtime, {[&](Host& host) {
                   host.wait(waiting, flag, 1, "wait");
                   host.synchronize(waiting, "block");
                 },
                 [&](Host& host) {
                   host.sleep_until(host.now() + 200'000'000);
                   host.signal(signalling, flag, 1, "signal");
                 }});
}

}  // namespace
}  // namespace syncopate::cpu::toy
