// Order within streams and between them, as CUDA defines it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend/runtime/error.h"
#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Event;

/// A device int, and what it is at the end of the run.
struct Cell {
  explicit Cell(Runtime& owner)
      : runtime(owner),
        device(make_ints(owner, Memory::kDevice, 1)),
        pinned(make_ints(owner, Memory::kPinned, 1)) {}

  void fetch(Host& host, Stream stream) const {
    host.copy(stream, "d2h", ints(pinned, 1), ints(device, 1));
  }
  int value() const { return *runtime.host_data<int>(pinned); }

  Runtime& runtime;
  Buffer device;
  Buffer pinned;
};

TEST(CpuStream, RunsItsCommandsInOrder) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Cell cell(*runtime);
  run(*runtime, {[&](Host& host) {
    for (int digit = 1; digit <= 9; ++digit) {
      launch(host, stream, "append", append(cell.device, 0, digit));
    }
    cell.fetch(host, stream);
  }});
  EXPECT_EQ(cell.value(), 123456789);
}

TEST(CpuStream, OverlapsWithOthers) {
  const auto runtime = make_runtime();
  const Stream held = make_stream(*runtime);
  const Stream free = make_stream(*runtime);
  Gate gate;
  run(*runtime, {[&](Host& host) {
    launch(host, held, "gate", gate.kernel());
    launch(host, free, "empty", kernel_of<[](runtime::Exec&, const int&) {}>(0));
    host.synchronize(free, "free");  // would never return if `free` waited for `held`
    gate.open();
  }});
}

TEST(CpuEvent, HoldsAnotherStream) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto runtime = make_runtime(1, {.chaos_seed = seed});
    const Stream first = make_stream(*runtime);
    const Stream second = make_stream(*runtime);
    const Event done = runtime->make_event(kDevice0);
    const Cell cell(*runtime);
    run(*runtime, {[&](Host& host) {
      launch(host, first, "one", append(cell.device, 0, 1));
      host.record(done, first, "record");
      host.wait(second, done, "wait");
      launch(host, second, "two", append(cell.device, 0, 2));
      cell.fetch(host, second);
    }});
    EXPECT_EQ(cell.value(), 12);
  }
}

TEST(CpuEvent, BindsAtTheTimeOfTheCall) {
  const auto runtime = make_runtime();
  const Stream first = make_stream(*runtime);
  const Stream second = make_stream(*runtime);
  const Event event = runtime->make_event(kDevice0);
  const Cell cell(*runtime);
  Gate gate;
  run(*runtime, {[&](Host& host) {
    launch(host, first, "one", append(cell.device, 0, 1));
    host.record(event, first, "early");
    host.wait(second, event, "wait");
    launch(host, first, "gate", gate.kernel());
    host.record(event, first, "late");
    launch(host, second, "two", append(cell.device, 0, 2));
    cell.fetch(host, second);
    host.synchronize(second, "second");  // would never return if the wait had moved on
    EXPECT_EQ(cell.value(), 12);
    EXPECT_FALSE(host.query(event, "query"));
    gate.open();
    host.synchronize(event, "late");
    EXPECT_TRUE(host.query(event, "query"));
  }});
}

TEST(CpuEvent, OrdersNothingBeforeItsFirstRecord) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Event never = runtime->make_event(kDevice0);
  const Cell cell(*runtime);
  run(*runtime, {[&](Host& host) {
    host.wait(stream, never, "wait");
    host.synchronize(never, "block");
    EXPECT_TRUE(host.query(never, "query"));
    launch(host, stream, "store", store(cell.device, 0, 3));
    cell.fetch(host, stream);
  }});
  EXPECT_EQ(cell.value(), 3);
}

TEST(CpuDefaultStream, WaitsForBlockingStreamsAndTheyForIt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto runtime = make_runtime(1, {.chaos_seed = seed});
    const Stream standard = runtime->make_stream(kDevice0, StreamKind::kLegacyDefault, "default");
    const Stream one = runtime->make_stream(kDevice0, StreamKind::kBlocking, "one");
    const Stream two = runtime->make_stream(kDevice0, StreamKind::kBlocking, "two");
    const Cell cell(*runtime);
    run(*runtime, {[&](Host& host) {
      launch(host, one, "one", append(cell.device, 0, 1));
      launch(host, standard, "default", append(cell.device, 0, 2));
      launch(host, two, "two", append(cell.device, 0, 3));
      launch(host, standard, "default", append(cell.device, 0, 4));
      cell.fetch(host, one);
    }});
    EXPECT_EQ(cell.value(), 1234);
  }
}

TEST(CpuDefaultStream, DoesNotHoldNonBlockingStreams) {
  const auto runtime = make_runtime();
  const Stream standard = runtime->make_stream(kDevice0, StreamKind::kLegacyDefault, "default");
  const Stream free = runtime->make_stream(kDevice0, StreamKind::kNonBlocking, "free");
  const Cell cell(*runtime);
  Gate gate;
  run(*runtime, {[&](Host& host) {
    launch(host, standard, "gate", gate.kernel());
    launch(host, free, "store", store(cell.device, 0, 6));
    cell.fetch(host, free);
    host.synchronize(free, "free");  // would never return if `free` waited for the default
    gate.open();
  }});
  EXPECT_EQ(cell.value(), 6);
}

TEST(CpuStream, RefusesTheHostOfAnotherDevice) {
  const auto runtime = make_runtime(2);
  const Stream stream = make_stream(*runtime, kDevice1);
  EXPECT_THROW(
      run(*runtime, {[&](Host& host) { launch(host, stream, "launch", fail()); }, [](Host&) {}}),
      runtime::UsageError);
}

TEST(CpuStream, RefusesAKernelWithoutAHostBody) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  EXPECT_THROW(run(*runtime, {[&](Host& host) { launch(host, stream, "launch", Kernel{}); }}),
               runtime::UsageError);
}

TEST(CpuQueue, HoldsTheHostWhenItIsFull) {
  const auto runtime = make_runtime(1, {.queue_capacity = 4});
  const Stream stream = make_stream(*runtime);
  const Cell cell(*runtime);
  Gate gate;
  std::atomic<int> enqueued{0};
  int enqueued_while_held = 0;
  std::thread opener([&] {
    while (enqueued < 4) std::this_thread::yield();
    pause();
    enqueued_while_held = enqueued;
    gate.open();
  });
  run(*runtime, {[&](Host& host) {
    launch(host, stream, "gate", gate.kernel());
    ++enqueued;
    for (int digit = 1; digit <= 9; ++digit) {
      launch(host, stream, "append", append(cell.device, 0, digit));
      ++enqueued;
    }
    cell.fetch(host, stream);
  }});
  opener.join();
  EXPECT_EQ(enqueued_while_held, 4);
  EXPECT_EQ(cell.value(), 123456789);
}

TEST(CpuQueue, GoesRoundManyTimes) {
  for (const std::size_t capacity : {1, 2, 3, 64}) {
    SCOPED_TRACE(capacity);
    const auto runtime = make_runtime(1, {.queue_capacity = capacity});
    const Stream first = make_stream(*runtime);
    const Stream second = make_stream(*runtime);
    const Event handed = runtime->make_event(kDevice0);
    const Event back = runtime->make_event(kDevice0);
    const Cell cell(*runtime);
    constexpr int kRounds = 500;
    const auto increment =
        kernel_of<[](runtime::Exec& exec, const Buffer& buffer) { ++*exec.data<int>(buffer); }>(
            cell.device);
    run(*runtime, {[&](Host& host) {
      for (int round = 0; round < kRounds; ++round) {
        launch(host, first, "increment", increment);
        host.record(handed, first, "handed");
        host.wait(second, handed, "handed");
        launch(host, second, "increment", increment);
        host.record(back, second, "back");
        host.wait(first, back, "back");
      }
      cell.fetch(host, first);
    }});
    EXPECT_EQ(cell.value(), 2 * kRounds);
  }
}

}  // namespace
}  // namespace syncopate::cpu::toy
