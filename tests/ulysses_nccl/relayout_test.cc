// Relayout kernels on a device move exactly what the host's bodies do, whatever the shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/cuda/nccl/nccl_device.h"
#include "tests/cuda/device_test.h"

namespace syncopate::ulysses {
namespace {

class RelayoutTest : public syncopate::cuda::DeviceTest {};

using Bytes = std::vector<std::byte>;

Bytes noise(std::uint64_t count, std::uint64_t seed) {
  Bytes bytes(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 2654435761U + seed * 40503U) >> 7);
  }
  return bytes;
}

/// What the kernels of one rank touch: q, k, v (of a gather, what attention left), where they land
/// and staging memory, in that order.
struct Memory {
  std::vector<std::uint64_t> bytes;
  std::vector<runtime::Buffer> buffers;
};

/// Copies by the device's body, and by the host's; gives both memories.
std::pair<std::vector<Bytes>, std::vector<Bytes>> on_both(const HeadChunkLayout& layout,
                                                          PackedUse use, std::uint32_t rank,
                                                          std::uint32_t slots) {
  const auto device = cuda::make_nccl_device(1);
  runtime::Runtime runtime(syncopate::cuda::make_cuda_engine({}));
  const runtime::Device gpu{0};
  const runtime::Stream stream =
      runtime.make_stream(gpu, runtime::StreamKind::kNonBlocking, "stream");
  const bool scatters = use == PackedUse::kScatters;
  const std::vector<runtime::Buffer> none(layout.world());
  Memory memory;
  if (scatters) {
    for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
      memory.bytes.push_back(layout.bytes(tensor, rank));
    }
    memory.bytes.push_back(slots * layout.slot_bytes(rank));
  } else {
    memory.bytes = {layout.attended_bytes(), layout.bytes(Tensor::kOutput, rank)};
  }
  memory.bytes.push_back(PackedPlan(layout, use, none, none).staging_bytes(rank));

  std::vector<runtime::Buffer> pinned;
  std::vector<Bytes> host;
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
    const std::uint64_t bytes = std::max<std::uint64_t>(memory.bytes[i], 1);
    memory.buffers.push_back(runtime.make_buffer(gpu, runtime::Memory::kDevice, bytes, "device"));
    pinned.push_back(runtime.make_buffer(gpu, runtime::Memory::kPinned, bytes, "pinned"));
    host.push_back(noise(bytes, i));
    std::memcpy(runtime.host_data(pinned[i]), host[i].data(), bytes);
  }
  std::vector<runtime::Buffer> landings = none, staging = none;
  landings[rank] = memory.buffers[memory.buffers.size() - 2];
  staging[rank] = memory.buffers.back();
  const PackedPlan plan(layout, use, landings, staging);
  Given given;
  given.slot = slots - 1;
  for (std::size_t i = 0; i + 2 < memory.buffers.size(); ++i) given.tensors[i] = memory.buffers[i];

  const runtime::HostMain main = [&](runtime::Host& h) {
    const auto all = [&](bool to_device) {
      for (std::size_t i = 0; i < pinned.size(); ++i) {
        const auto on_host = runtime::Region::flat(pinned[i], 0, host[i].size());
        const auto on_device = runtime::Region::flat(memory.buffers[i], 0, host[i].size());
        h.copy(stream, "copy", to_device ? on_device : on_host, to_device ? on_host : on_device);
      }
    };
    all(/*to_device=*/true);
    for (std::uint32_t band = 0; band < layout.bands(); ++band) {
      const PackedMoves moves = plan.band(rank, band).relayout.all();
      if (moves.empty()) continue;
      h.launch(stream, "relayout", {}, {}, {.host = {}, .cuda = device->copy_rows(moves, given)});
    }
    all(/*to_device=*/false);
    h.synchronize(stream, "end");
  };
  runtime.run(std::span(&main, 1));

  std::vector<std::byte*> bases(pinned.size() + memory.buffers.size());
  for (std::size_t i = 0; i < host.size(); ++i) bases[memory.buffers[i].id] = host[i].data();
  runtime::Exec exec(bases.data(), nullptr);
  for (std::uint32_t band = 0; band < layout.bands(); ++band) {
    copy_rows(plan.band(rank, band).relayout.all(), given)(exec);
  }
  std::vector<Bytes> found;
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    const std::byte* data = runtime.host_data(pinned[i]);
    found.emplace_back(data, data + host[i].size());
  }
  return {found, host};
}

void expect_same(const LayoutOptions& options, std::uint32_t rank, std::uint32_t slots) {
  const HeadChunkLayout layout(options);
  for (const PackedUse use : {PackedUse::kScatters, PackedUse::kGathers}) {
    const auto [found, expected] = on_both(layout, use, rank, slots);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(found[i] == expected[i])
          << layout.explain() << "rank " << rank << ", memory " << i;
    }
  }
}

// Rows of 2 bytes to 14 KB, of which 2, 4, 8 and 16 are moved at a time; batches whose moves take
// several launches; ranks without tokens, and alone.
TEST_F(RelayoutTest, MovesWhatTheHostMoves) {
  using enum ElementType;
  expect_same({1, {7}, 4, 4, 1, kBf16, {1, 2, 1}}, 0, 3);
  expect_same({1, {5, 3}, 6, 3, 1, kBf16, {1, 2}}, 1, 1);
  expect_same({2, {9, 4}, 8, 2, 3, kFp16, {3, 1}}, 0, 2);
  expect_same({1, {33, 20}, 12, 4, 2, kFp32, {2, 3, 1}}, 1, 1);
  expect_same({3, {6, 7}, 8, 8, 4, kFp32, {1, 2, 1}}, 0, 1);
  expect_same({1, {64, 1, 40}, 9, 3, 80, kBf16, {1, 2}}, 2, 1);
  expect_same({1, {20, 0, 30, 14}, 8, 2, 64, kFp16, {1, 1}}, 0, 2);
  expect_same({1, {20, 0, 30, 14}, 8, 2, 64, kFp16, {1, 1}}, 1, 2);
  expect_same({9, {5, 6, 7, 8}, 16, 8, 20, kBf16, {1, 2, 1}}, 3, 1);
  expect_same({1, {700, 701}, 56, 56, 128, kBf16, {4, 20, 4}}, 1, 1);
  expect_same({1, {3, 2}, 112, 112, 128, kFp32, {56}}, 0, 1);
}

TEST_F(RelayoutTest, TwentyShapesCompileNothing) {
  for (std::uint32_t shape = 0; shape < 20; ++shape) {
    expect_same({1 + shape % 2,
                 {5 + shape, 3},
                 2 * (shape + 1),
                 shape + 1,
                 shape + 1,
                 shape % 3 == 0 ? ElementType::kFp32 : ElementType::kBf16,
                 {shape + 1}},
                shape % 2, 1);
  }
  EXPECT_EQ(cuda::relayout_kernels(), 4);  // accesses of 2, 4, 8 and 16 bytes
}

}  // namespace
}  // namespace syncopate::ulysses
