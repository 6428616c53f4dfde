#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Buffer;
using runtime::Host;
using runtime::Memory;
using runtime::OperationKind;
using runtime::Region;
using runtime::StreamKind;

class CudaCopyTest : public CudaTest {};
class CudaPeerCopyTest : public TwoDevicesTest {};

constexpr std::uint64_t kBytes = 1 << 16;

// A region of a buffer of kBytes, of the given shape.
Region random_region(std::mt19937_64& random, Buffer buffer, std::uint64_t width,
                     std::uint64_t rows) {
  Region region{buffer, 0, width, rows, width + random() % 64};
  region.offset = random() % (kBytes - region.end() + 1);
  return region;
}

void fill_random(std::mt19937_64& random, std::byte* bytes) {
  for (std::uint64_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(random());
}

// What a copy leaves behind, one byte at a time.
std::vector<std::byte> copied(std::vector<std::byte> dst, const Region& to,
                              const std::vector<std::byte>& src, const Region& from) {
  for (std::uint64_t row = 0; row < to.rows; ++row) {
    for (std::uint64_t i = 0; i < to.width; ++i) {
      dst[to.offset + row * to.pitch + i] = src[from.offset + row * from.pitch + i];
    }
  }
  return dst;
}

std::vector<std::byte> bytes_of(const std::byte* data) { return {data, data + kBytes}; }

// Sends a random region from the host through two buffers of device memory back to the host.
void round_trip(Memory memory, std::uint64_t rows, std::uint64_t seed, int devices) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  runtime::Runtime runtime = make_runtime(devices);
  const runtime::Device last{static_cast<std::uint32_t>(devices - 1)};
  const Buffer source = runtime.make_buffer(kDevice, memory, kBytes, "source");
  const Buffer first = runtime.make_buffer(kDevice, Memory::kDevice, kBytes, "first");
  const Buffer second = runtime.make_buffer(last, Memory::kDevice, kBytes, "second");
  const Buffer result = runtime.make_buffer(kDevice, memory, kBytes, "result");
  const runtime::Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  fill_random(random, runtime.host_data(source));

  const std::uint64_t width = 1 + random() % 256;
  const std::array regions = {
      random_region(random, source, width, rows), random_region(random, first, width, rows),
      random_region(random, second, width, rows), random_region(random, result, width, rows)};
  run(runtime, [&](Host& host) {
    host.copy(stream, "in", regions[1], regions[0]);
    host.copy(stream, "across", regions[2], regions[1]);
    host.copy(stream, "out", regions[3], regions[2]);
    host.synchronize(stream, "end");
  });

  const std::vector<std::byte> zeros(kBytes);
  std::vector<std::byte> expected = bytes_of(runtime.host_data(source));
  for (std::size_t i = 1; i < regions.size(); ++i) {
    expected = copied(zeros, regions[i], expected, regions[i - 1]);
  }
  EXPECT_EQ(bytes_of(runtime.host_data(result)), expected);

  const auto& operations = runtime.timeline().operations;
  ASSERT_GE(operations.size(), 3U);
  EXPECT_EQ(operations[0].kind, OperationKind::kCopyH2D);
  EXPECT_EQ(operations[1].kind, devices > 1 ? OperationKind::kCopyPeer : OperationKind::kCopyD2D);
  EXPECT_EQ(operations[2].kind, OperationKind::kCopyD2H);
  EXPECT_EQ(operations[2].bytes, width * rows);
}

TEST_F(CudaCopyTest, FlatRangesGoThroughDeviceMemoryAndBack) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    round_trip(Memory::kPinned, 1, seed, 1);
    round_trip(Memory::kPageable, 1, seed, 1);
  }
}

TEST_F(CudaCopyTest, RowsOfARegionArriveAndTheBytesBetweenThemStay) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    round_trip(Memory::kPinned, 2 + seed * 12, seed, 1);
    round_trip(Memory::kPageable, 2 + seed * 12, seed, 1);
  }
}

TEST_F(CudaPeerCopyTest, RegionsGoFromDeviceToDevice) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    round_trip(Memory::kPinned, 1, seed, 2);
    round_trip(Memory::kPinned, 2 + seed * 12, seed, 2);
  }
}

TEST_F(CudaCopyTest, NewMemoryOfEveryKindIsZero) {
  runtime::Runtime runtime = make_runtime();
  const Buffer device = runtime.make_buffer(kDevice, Memory::kDevice, kBytes, "device");
  const Buffer pinned = runtime.make_buffer(kDevice, Memory::kPinned, kBytes, "pinned");
  const Buffer pageable = runtime.make_buffer(kDevice, Memory::kPageable, kBytes, "pageable");
  const Buffer copy = runtime.make_buffer(kDevice, Memory::kPinned, kBytes, "copy");
  std::memset(runtime.host_data(copy), 0xff, kBytes);
  const runtime::Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  run(runtime, [&](Host& host) {
    host.copy(stream, "out", Region::flat(copy, 0, kBytes), Region::flat(device, 0, kBytes));
  });
  const std::vector<std::byte> zeros(kBytes);
  EXPECT_EQ(bytes_of(runtime.host_data(copy)), zeros);
  EXPECT_EQ(bytes_of(runtime.host_data(pinned)), zeros);
  EXPECT_EQ(bytes_of(runtime.host_data(pageable)), zeros);
}

TEST_F(CudaCopyTest, APageableCopyIsDoneWhenTheCallReturns) {
  constexpr std::uint32_t kWords = 1 << 20;
  runtime::Runtime runtime = make_runtime();
  const Buffer device = runtime.make_buffer(kDevice, Memory::kDevice, kWords * 4, "device");
  const Buffer pageable = runtime.make_buffer(kDevice, Memory::kPageable, kWords * 4, "pageable");
  const runtime::Stream stream = runtime.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
  bool done = false;
  run(runtime, [&](Host& host) {
    launch(host, stream, spin_body(2'000'000));
    launch(host, stream, fill_body(device, kWords, 7));
    host.copy(stream, "out", Region::flat(pageable, 0, kWords * 4),
              Region::flat(device, 0, kWords * 4));
    const auto* words = runtime.host_data<std::uint32_t>(pageable);
    done = std::all_of(words, words + kWords, [](std::uint32_t word) { return word == 7; });
  });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace syncopate::cuda
