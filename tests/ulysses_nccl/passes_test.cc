// NCCL's exchange, and passes over it, in streams and in graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "analysis/races.h"
#include "backend/ulysses/cuda/nccl/nccl_device.h"
#include "backend/ulysses/error.h"
#include "tests/cuda/device_test.h"
#include "tests/ulysses_cuda/device_passes.h"

namespace syncopate::ulysses {
namespace {

using ::testing::HasSubstr;

class NcclTest : public syncopate::cuda::DeviceTest {
 protected:
  /// Every strategy on as many GPUs as ranks, and the overlapped one with one slot.
  static void expect_right(const LayoutOptions& layout) {
    const int world = static_cast<int>(layout.tokens.size());
    const auto device = cuda::make_nccl_device(world);
    const cuda::DeviceAttention attention(world);
    const auto expect = [&](StrategyKind strategy, std::uint32_t slots, bool graphs) {
      Passes passes{layout, {strategy, slots}, 4};
      passes.options.graphs = graphs;
      passes.options.transport = Transport::kNccl;
      passes.options.packed_device = device.get();
      const PassesOutcome outcome = make_device_passes(passes, attention, world);
      const std::string text = HeadChunkLayout(layout).explain() + to_string(strategy) + ", " +
                               std::to_string(slots) + " slots" + (graphs ? ", graphs" : "");
      EXPECT_EQ(difference(outcome.outputs, expected_on_host(passes), layout.type), "") << text;
      EXPECT_TRUE(analysis::find_races(outcome.timeline).empty()) << text;
    };
    for (const bool graphs : {false, true}) {
      for (const StrategyKind strategy :
           {StrategyKind::kOrdinary, StrategyKind::kWholeFused, StrategyKind::kChunkSequential,
            StrategyKind::kChunkOverlap}) {
        expect(strategy, 0, graphs);
      }
      expect(StrategyKind::kChunkOverlap, 1, graphs);
    }
  }
};

// A rank alone sends to itself here, which a pass never does: what NCCL is asked for is the same.
TEST_F(NcclTest, AnExchangeMovesAllRunsInAStreamAndInAGraph) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto device = cuda::make_nccl_device(1);
  const DeviceExchange& exchange = device->exchange(1, PackedUse::kScatters);
  EXPECT_EQ(&device->exchange(1, PackedUse::kScatters), &exchange);
  EXPECT_NE(&device->exchange(1, PackedUse::kGathers), &exchange);

  runtime::Runtime runtime(syncopate::cuda::make_cuda_engine({}));
  const runtime::Device gpu{0};
  const runtime::Stream stream =
      runtime.make_stream(gpu, runtime::StreamKind::kNonBlocking, "stream");
  const auto buffer = [&](runtime::Memory memory) {
    return runtime.make_buffer(gpu, memory, 2 * kBytes, "buffer");
  };
  const runtime::Buffer from = buffer(runtime::Memory::kDevice);
  const runtime::Buffer to = buffer(runtime::Memory::kDevice);
  const runtime::Buffer filled = buffer(runtime::Memory::kPinned);
  const runtime::Buffer got = buffer(runtime::Memory::kPinned);
  // Two runs that change places, into slot 1, which begins after 64 bytes.
  const auto move = [&](std::uint64_t at, std::uint64_t into, std::uint64_t bytes) {
    return PackedMove{
        {runtime::Region::flat(from, at, bytes), runtime::Region::flat(to, into, bytes)},
        64,
        PackedMove::kBound,
        0};
  };
  const std::vector<PackedMove> moves = {move(0, kBytes, kBytes - 64), move(kBytes, 0, 4096)};
  Given given;
  given.slot = 1;
  const runtime::Meeting meeting = runtime.make_meeting({gpu}, 1);
  auto* const source = runtime.host_data<std::uint32_t>(filled);
  for (std::uint32_t i = 0; i < 2 * kBytes / 4; ++i) source[i] = i * 2654435761U;
  const auto check = [&](const char* where) {
    const std::byte* const data = runtime.host_data(got);
    const std::byte* const sent = runtime.host_data(filled);
    EXPECT_EQ(std::memcmp(data + kBytes + 64, sent, kBytes - 64), 0) << where;
    EXPECT_EQ(std::memcmp(data + 64, sent + kBytes, 4096), 0) << where;
    EXPECT_EQ(data[0], std::byte{0}) << where;
  };
  const runtime::HostMain main = [&](runtime::Host& host) {
    const auto whole = [](runtime::Buffer b) { return runtime::Region::flat(b, 0, 2 * kBytes); };
    const auto send = [&](runtime::Host& h) {
      h.collective(stream, "exchange", {}, {},
                   {.host = {}, .cuda = exchange.body(0, moves, moves, given)}, meeting);
    };
    const auto fetch = [&](const char* where) {
      host.copy(stream, "d2h", whole(got), whole(to));
      host.synchronize(stream, "end");
      check(where);
    };
    host.copy(stream, "h2d", whole(from), whole(filled));
    send(host);
    fetch("in a stream");
    const runtime::Graph graph = host.capture(stream, {}, "graph", send);
    for (int launch = 0; launch < 3; ++launch) {
      source[0] = source[kBytes / 4] = static_cast<std::uint32_t>(launch);
      host.copy(stream, "h2d", whole(from), whole(filled));
      host.launch(graph, stream, "graph", {});
      fetch("in a graph");
    }
  };
  runtime.run(std::span(&main, 1));
}

TEST_F(NcclTest, RanksThatShareAGpuAreRefused) {
  const auto device = cuda::make_nccl_device(1);
  try {
    device->exchange(2, PackedUse::kScatters);
    ADD_FAILURE() << "nothing is refused";
  } catch (const UlyssesError& error) {
    EXPECT_EQ(error.fault(), Fault::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("one rank a GPU: ranks 0 and 1 share GPU 0"));
  }
}

TEST_F(NcclTest, PassesOfOneRankNeedNoExchange) {
  expect_right({2, {77}, 8, 4, 64, ElementType::kBf16, {1, 5, 2}});
}

TEST_F(NcclTest, PassesOfTwoRanksGiveTheAttentionOfOneHost) {
  if (syncopate::cuda::visible_devices() < 2) GTEST_SKIP() << "skipped: no second CUDA device";
  expect_right({1, {64, 64}, 8, 8, 128, ElementType::kBf16, {1, 2, 1}});
  expect_right({2, {40, 37}, 12, 4, 64, ElementType::kFp16, {2, 3, 1}});
  expect_right({1, {33, 0}, 4, 1, 64, ElementType::kFp32, {1, 1}});
}

}  // namespace
}  // namespace syncopate::ulysses
