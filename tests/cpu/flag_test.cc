// Flags: order between streams of different hosts, which never meet.
#include <gtest/gtest.h>

#include <string>

#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

using runtime::Flag;

TEST(CpuFlag, MayBeWaitedForBeforeItIsSignalled) {
  const auto runtime = make_runtime();
  const Stream waiting = make_stream(*runtime);
  const Stream signalling = make_stream(*runtime);
  const Buffer cell = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  const Flag flag = runtime->make_flag();
  run(*runtime, {[&](Host& host) {
    host.wait(waiting, flag, 3, "wait");
    launch(host, waiting, "two", append(cell, 0, 2));
    host.copy(waiting, "d2h", ints(out, 1), ints(cell, 1));
    launch(host, signalling, "one", append(cell, 0, 1));
    host.signal(signalling, flag, 4, "signal");  // larger than what is waited for
  }});
  EXPECT_EQ(*runtime->host_data<int>(out), 12);
}

TEST(CpuFlag, BlocksAHostUntilAnotherHostsStreamSignals) {
  const auto runtime = make_runtime(2);
  const Stream signalling = make_stream(*runtime);
  const Stream free = make_stream(*runtime, kDevice1);
  const Buffer cell = make_ints(*runtime, Memory::kPinned, 2);
  const Flag flag = runtime->make_flag();
  int seen = 0;
  run(*runtime, {[&](Host& host) {
                   launch(host, signalling, "one", append(cell, 0, 1));
                   host.signal(signalling, flag, 3, "signal");
                 },
                 [&](Host& host) {
                   launch(host, free, "two", append(cell, 1, 2));  // its stream is not held
                   host.synchronize(free, "block");
                   host.synchronize(flag, 3, "meet");
                   seen = runtime->host_data<int>(cell)[0];
                 }});
  EXPECT_EQ(seen, 1);
}

/// Each device fills a block, scatters it into the other's inbox, waits for the other's block by
/// value, and adds it to a sum. An inbox is free again when its owner says so by a second flag.
struct Exchange {
  static constexpr int kRounds = 100;
  static constexpr int kCount = 64;

  struct Side {
    Stream compute, copies;
    runtime::Event filled, sent;
    Buffer block, inbox, sum, result;
    Flag arrived, taken;  // signalled for this side's inbox
  };

  explicit Exchange(Runtime& owner) : runtime(owner) {
    for (std::uint32_t id = 0; id < 2; ++id) {
      const Device device{id};
      sides[id] = {make_stream(owner, device),
                   make_stream(owner, device),
                   owner.make_event(device),
                   owner.make_event(device),
                   make_ints(owner, Memory::kDevice, kCount, device),
                   make_ints(owner, Memory::kDevice, kCount, device),
                   make_ints(owner, Memory::kDevice, kCount, device),
                   make_ints(owner, Memory::kPinned, kCount, device),
                   owner.make_flag(),
                   owner.make_flag()};
    }
  }

  struct Fill {
    Buffer block;
    int first;
  };
  struct Add {
    Buffer sum, inbox;
  };
  static void run_fill(runtime::Exec& exec, const Fill& args) {
    for (int i = 0; i < kCount; ++i) exec.data<int>(args.block)[i] = args.first + i;
  }
  static void run_add(runtime::Exec& exec, const Add& args) {
    for (int i = 0; i < kCount; ++i) {
      exec.data<int>(args.sum)[i] += exec.data<int>(args.inbox)[i];
    }
  }

  void main(Host& host) {
    const std::uint32_t id = host.device().id;
    const Side& mine = sides[id];
    const Side& other = sides[1 - id];
    for (int round = 1; round <= kRounds; ++round) {
      const auto number = static_cast<std::uint64_t>(round);
      host.wait(mine.compute, mine.sent, "fill.wait_sent");
      launch(host, mine.compute, "fill",
             kernel_of<run_fill>(Fill{mine.block, round * 1000 * (static_cast<int>(id) + 1)}));
      host.record(mine.filled, mine.compute, "filled");
      host.wait(mine.copies, mine.filled, "scatter.wait_filled");
      host.wait(mine.copies, other.taken, number - 1, "scatter.wait_taken");
      host.copy(mine.copies, "scatter", ints(other.inbox, kCount), ints(mine.block, kCount));
      host.signal(mine.copies, other.arrived, number, "arrived");
      host.record(mine.sent, mine.copies, "sent");
      host.wait(mine.compute, mine.arrived, number, "add.wait_arrived");
      launch(host, mine.compute, "add", kernel_of<run_add>(Add{mine.sum, mine.inbox}));
      host.signal(mine.compute, mine.taken, number, "taken");
    }
    host.copy(mine.compute, "d2h", ints(mine.result, kCount), ints(mine.sum, kCount));
    host.synchronize(mine.compute, "result");
  }

  void expect_sums() const {
    constexpr int kRoundSum = kRounds * (kRounds + 1) / 2;
    for (int id = 0; id < 2; ++id) {
      for (int i = 0; i < kCount; ++i) {
        EXPECT_EQ(runtime.host_data<int>(sides[id].result)[i],
                  kRoundSum * 1000 * (2 - id) + kRounds * i)
            << "device " << id << ", element " << i;
      }
    }
  }

  Runtime& runtime;
  Side sides[2];
};

TEST(CpuFlag, OrdersTwoHostsThatExchangeBlocks) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    SCOPED_TRACE("chaos seed " + std::to_string(seed));
    const auto runtime = make_runtime(2, {.chaos_seed = seed});
    Exchange exchange(*runtime);
    const HostMain main = [&](Host& host) { exchange.main(host); };
    run(*runtime, {main, main});
    exchange.expect_sums();
  }
}

}  // namespace
}  // namespace syncopate::cpu::toy
