// What operations do to memory in virtual time: when inputs are taken, when outputs appear, and
// what spoils them.

#include <algorithm>
#include <array>

#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

using runtime::NodeArgs;

constexpr SimOptions kEffects{.effects = true};

struct Add {
  Buffer out, in;
  std::uint32_t words;
  std::int32_t amount;
};

void add(Exec& exec, const Add& args) {
  for (std::uint32_t i = 0; i < args.words; ++i) {
    exec.data<std::int32_t>(args.out)[i] = exec.data<std::int32_t>(args.in)[i] + args.amount;
  }
}

void fill_even(Exec& exec, const Add& args) {
  for (std::uint32_t i = 0; i < args.words; i += 2) {
    exec.data<std::int32_t>(args.out)[i] = args.amount;
  }
}

// A machine with an input and an output buffer of four words on each side.
class Effects : public testing::Test {
 protected:
  static constexpr std::uint32_t kWords = 4;
  static constexpr std::uint64_t kBytes = kWords * 4;

  Kernel add_kernel(Buffer to, Buffer from, std::int32_t amount) {
    return {.host = runtime::Body::of<add>(Add{to, from, kWords, amount}), .cuda = {}};
  }
  void launch_add(Host& host, Stream stream, Name name, Buffer to, Buffer from, std::int32_t amount,
                  Nanos ns) {
    const std::array<Access, 2> accesses{read(from, 0, kBytes), write(to, 0, kBytes)};
    host.launch(stream, name, takes(ns), accesses, add_kernel(to, from, amount));
  }
  static Region all(Buffer buffer) { return Region::flat(buffer, 0, kBytes); }

  std::vector<std::int32_t> words(Buffer buffer) {
    const auto* data = machine->host_data<std::int32_t>(buffer);
    return {data, data + kWords};
  }
  /// In a span that declares it, as programs do.
  void fill(Host& host, Buffer buffer, std::int32_t value) {
    const std::array<Access, 1> accesses{write(buffer, 0, kBytes)};
    host.span("fill", accesses, [&] {
      std::fill_n(machine->host_data<std::int32_t>(buffer), kWords, value);
      return Cost{};
    });
  }
  std::vector<std::int32_t> look(Host& host, Buffer buffer) {
    const std::array<Access, 1> accesses{read(buffer, 0, kBytes)};
    std::vector<std::int32_t> seen;
    host.span("look", accesses, [&] {
      seen = words(buffer);
      return Cost{};
    });
    return seen;
  }
  using Words = std::vector<std::int32_t>;

  VirtualMachine machine{HardwareProfile{}, kEffects};  // copies take a nanosecond a byte
  Stream a = machine.stream(), b = machine.stream();
  Buffer pinned_in = machine.buffer(Memory::kPinned, kBytes);
  Buffer pinned_out = machine.buffer(Memory::kPinned, kBytes);
  Buffer in = machine.buffer(Memory::kDevice, kBytes);
  Buffer out = machine.buffer(Memory::kDevice, kBytes);
};

TEST_F(Effects, AnOrderedStepComputesWhatItShould) {
  Words result;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 40);
    host.copy(a, "up", all(in), all(pinned_in));
    launch_add(host, a, "add", out, in, 2, 1'000);
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{42, 42, 42, 42}));
}

TEST_F(Effects, OutputsAppearAtTheEndAndNotBefore) {
  Words during, after;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 7);
    host.copy(a, "up", all(in), all(pinned_in));     // 0 to 16 ns
    host.copy(a, "down", all(pinned_out), all(in));  // 16 to 32 ns
    host.sleep_until(31);
    during = look(host, pinned_out);
    host.sleep_until(32);
    after = look(host, pinned_out);
  });
  EXPECT_EQ(during, (Words{0, 0, 0, 0}));
  EXPECT_EQ(after, (Words{7, 7, 7, 7}));
}

TEST_F(Effects, InputsAreTakenAtTheStart) {
  Words result;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 4);
    host.copy(a, "up", all(in), all(pinned_in));          // lands at 16 ns
    launch_add(host, b, "too early", out, in, 0, 1'000);  // starts at 0: sees zeros
    host.synchronize(b, "block b");
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block a");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{1, 1, 1, 1}));  // zeros, spoiled; not 4 or 5
}

TEST_F(Effects, AHostWriteSpoilsTheCopyThatReadsTheRange) {
  Words result;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 8);
    host.copy(a, "up", all(in), all(pinned_in));  // 0 to 16 ns
    host.sleep_until(5);
    fill(host, pinned_in, 20);
    host.copy(a, "down", all(pinned_out), all(in));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{9, 9, 9, 9}));  // the values of the start with the low bit flipped
}

TEST_F(Effects, AnOperationThatLandsSpoilsTheOneThatRuns) {
  Words result;
  machine.run([&](Host& host) {
    launch_add(host, a, "reader", out, in, 6, 100);  // 0 to 100 ns
    host.copy(b, "up", all(in), all(pinned_in));     // lands at 16 ns, with the same values
    host.synchronize(a, "block");
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{7, 7, 7, 7}));
}

TEST_F(Effects, NeighbouringRangesDoNotSpoilEachOther) {
  Words result;
  machine.run([&](Host& host) {
    const std::array<Access, 2> accesses{read(in, 0, 8), write(out, 0, 16)};
    host.launch(a, "reader", takes(100), accesses, add_kernel(out, in, 6));
    host.copy(b, "up", Region::flat(in, 8, 8), Region::flat(pinned_in, 8, 8));
    host.synchronize(a, "block");
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{6, 6, 6, 6}));
}

TEST_F(Effects, StridedCopiesMoveAndGuardTheirRowsOnly) {
  Words result;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 4);
    // Two copies at the same time into the even and odd words of one buffer.
    const Region even{in, 0, 4, 2, 8}, odd{in, 4, 4, 2, 8};
    host.copy(a, "even", even, Region{pinned_in, 0, 4, 2, 4});
    host.copy(b, "odd", odd, Region{pinned_in, 8, 4, 2, 4});
    host.synchronize(a, "block");
    host.synchronize(b, "block");
    launch_add(host, a, "add", out, in, 1, 10);
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{5, 5, 5, 5}));
}

TEST_F(Effects, AKernelThatWritesRowsWithGapsLeavesTheGapsToOthers) {
  Words result;
  machine.run([&](Host& host) {
    fill(host, pinned_in, 4);
    const std::array<Access, 1> even{runtime::access_of({out, 0, 4, 2, 8}, /*write=*/true)};
    host.launch(a, "even", takes(100), even,
                {.host = runtime::Body::of<fill_even>(Add{out, in, kWords, 9}), .cuda = {}});
    host.copy(b, "odd", Region{out, 4, 4, 2, 8}, Region{pinned_in, 0, 4, 2, 4});  // lands first
    host.synchronize(a, "block");
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{9, 4, 9, 4}));
}

TEST_F(Effects, OverlappingWritesOfOneKernelLandOnce) {
  Words result;
  machine.run([&](Host& host) {
    const std::array<Access, 3> accesses{write(out, 0, 12), write(out, 4, 16), read(in, 0, 16)};
    host.launch(a, "add", takes(10), accesses, add_kernel(out, in, 3));
    host.copy(a, "down", all(pinned_out), all(out));
    host.synchronize(a, "block");
    result = look(host, pinned_out);
  });
  EXPECT_EQ(result, (Words{3, 3, 3, 3}));
}

TEST_F(Effects, GraphNodesHaveThemAndTakeTheRangesOfTheLaunch) {
  Words clean, spoiled;
  machine.run([&](Host& host) {
    const Graph graph = host.capture(a, Buffer{}, "graph", [&](Host& captured) {
      const std::array<Access, 1> accesses{write(out, 0, kBytes)};
      captured.launch(a, "add", takes(100), accesses, add_kernel(out, in, 10));
      captured.copy(a, "down", all(pinned_out), all(out));
    });
    const std::array<Access, 1> extra{read(in, 0, kBytes)};
    std::array<NodeArgs, 1> args{};
    args[0] = {.node = 0, .cost = takes(100), .extra = extra};
    for (Words* result : {&clean, &spoiled}) {
      host.launch(graph, a, "graph", args);
      if (result == &spoiled) host.copy(b, "up", all(in), all(pinned_in));
      host.synchronize(a, "block");
      *result = look(host, pinned_out);
    }
  });
  EXPECT_EQ(clean, (Words{10, 10, 10, 10}));
  EXPECT_EQ(spoiled, (Words{11, 11, 11, 11}));
}

TEST_F(Effects, GraphsThatShareAWorkspaceAtTheSameTimeSpoilEachOther) {
  const Buffer workspace = machine.buffer(Memory::kDevice, 64);
  Words alone, together;
  machine.run([&](Host& host) {
    const auto capture = [&](Stream stream, Buffer to, std::int32_t amount) {
      return host.capture(stream, workspace, "graph", [&](Host& captured) {
        const std::array<Access, 1> accesses{write(to, 0, kBytes)};
        captured.launch(stream, "add", takes(100), accesses, add_kernel(to, in, amount));
      });
    };
    const Graph first = capture(a, out, 2), second = capture(b, in, 0);
    for (Words* result : {&alone, &together}) {
      host.launch(first, a, "first", {});
      if (result == &together) {
        host.busy("busy", 50);
        host.launch(second, b, "second", {});
      }
      host.synchronize(a, "block");
      host.copy(a, "down", all(pinned_out), all(out));
      host.synchronize(a, "block");
      *result = look(host, pinned_out);
    }
    host.synchronize(b, "block");
  });
  EXPECT_EQ(alone, (Words{2, 2, 2, 2}));
  EXPECT_EQ(together, (Words{3, 3, 3, 3}));
}

TEST_F(Effects, OffLeavesPinnedMemoryToTheHostAndRunsNoBodies) {
  VirtualMachine off(HardwareProfile{}, kTimesOnly);
  const Stream stream = off.stream();
  const Buffer pinned = off.buffer(Memory::kPinned, kBytes);
  const Buffer device = off.buffer(Memory::kDevice, kBytes);
  ASSERT_NE(off->host_data(pinned), nullptr);
  off.run([&](Host& host) {
    const std::array<Access, 1> accesses{write(device, 0, kBytes)};
    host.launch(stream, "kernel", takes(1), accesses, Kernel{});
    host.copy(stream, "down", all(pinned), all(device));
  });
  EXPECT_EQ(off->host_data<std::int32_t>(pinned)[0], 0);
}

}  // namespace
}  // namespace syncopate::sim
