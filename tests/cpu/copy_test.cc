#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/cpu/toy.h"

namespace syncopate::cpu::toy {
namespace {

TEST(CpuMemory, IsZeroedAndAligned) {
  const auto runtime = make_runtime();
  for (const Memory memory : {Memory::kPinned, Memory::kPageable}) {
    const Buffer buffer = make_ints(*runtime, memory, 1000);
    const int* data = runtime->host_data<int>(buffer);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
    EXPECT_EQ(std::count(data, data + 1000, 0), 1000);
  }
}

TEST(CpuCopy, GoesToTheDeviceAndBack) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer in = make_ints(*runtime, Memory::kPinned, 100);
  const Buffer on_device = make_ints(*runtime, Memory::kDevice, 100);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 100);
  std::iota(runtime->host_data<int>(in), runtime->host_data<int>(in) + 100, 5);
  run(*runtime, {[&](Host& host) {
    host.copy(stream, "h2d", ints(on_device, 100), ints(in, 100));
    host.copy(stream, "d2h", ints(out, 50), ints(on_device, 50, 50));
  }});
  const int* result = runtime->host_data<int>(out);
  EXPECT_EQ(result[0], 55);
  EXPECT_EQ(result[49], 104);
  EXPECT_EQ(result[50], 0);
}

TEST(CpuCopy, MovesATwoDimensionalRegionAndNothingElse) {
  // A 4 x 6 matrix; its 3 x 2 block at (1, 2) goes into a 5 x 3 one at (0, 1).
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer in = make_ints(*runtime, Memory::kPinned, 4 * 6);
  const Buffer on_device = make_ints(*runtime, Memory::kDevice, 5 * 3);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 5 * 3);
  std::iota(runtime->host_data<int>(in), runtime->host_data<int>(in) + 24, 100);
  const Region src{in, (1 * 6 + 2) * sizeof(int), 2 * sizeof(int), 3, 6 * sizeof(int)};
  const Region dst{on_device, 1 * sizeof(int), 2 * sizeof(int), 3, 3 * sizeof(int)};
  run(*runtime, {[&](Host& host) {
    host.copy(stream, "block", dst, src);
    host.copy(stream, "d2h", ints(out, 15), ints(on_device, 15));
  }});
  const int* result = runtime->host_data<int>(out);
  EXPECT_EQ(std::vector<int>(result, result + 15),
            (std::vector<int>{0, 108, 109, 0, 114, 115, 0, 120, 121, 0, 0, 0, 0, 0, 0}));
}

TEST(CpuCopy, GoesFromDeviceToDevice) {
  const auto runtime = make_runtime(2);
  const Stream stream = make_stream(*runtime);
  const Buffer here = make_ints(*runtime, Memory::kDevice, 1, kDevice0);
  const Buffer there = make_ints(*runtime, Memory::kDevice, 1, kDevice1);
  const Buffer out = make_ints(*runtime, Memory::kPinned, 1);
  run(*runtime, {[&](Host& host) {
                   launch(host, stream, "store", store(here, 0, 9));
                   host.copy(stream, "peer", ints(there, 1), ints(here, 1));
                   host.copy(stream, "d2h", ints(out, 1), ints(there, 1));
                 },
                 [](Host&) {}});
  EXPECT_EQ(*runtime->host_data<int>(out), 9);
}

TEST(CpuCopy, FromTheDeviceToPageableMemoryHoldsTheHostUntilItIsDone) {
  const auto runtime = make_runtime();
  const Stream stream = make_stream(*runtime);
  const Buffer on_device = make_ints(*runtime, Memory::kDevice, 1);
  const Buffer out = make_ints(*runtime, Memory::kPageable, 1);
  Gate gate;
  std::atomic<bool> issued{false};
  bool held = false;
  std::thread opener([&] {
    pause();
    held = !issued;
    gate.open();
  });
  int seen = 0;
  run(*runtime, {[&](Host& host) {
    launch(host, stream, "gate", gate.kernel());
    launch(host, stream, "store", store(on_device, 0, 4));
    host.copy(stream, "d2h", ints(out, 1), ints(on_device, 1));
    seen = *runtime->host_data<int>(out);
    issued = true;
  }});
  opener.join();
  EXPECT_EQ(seen, 4);
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace syncopate::cpu::toy
