// Every strategy on GPUs gives the attention of one host: element types, GQA, causal, uneven
// splits, ranks that share a GPU, graphs. With two GPUs, ranks have their own as well.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/races.h"
#include "tests/cuda/device_test.h"
#include "tests/ulysses_cuda/device_passes.h"

namespace syncopate::ulysses {
namespace {

constexpr ElementType kTypes[] = {ElementType::kFp16, ElementType::kBf16, ElementType::kFp32};
constexpr StrategyKind kStrategies[] = {StrategyKind::kOrdinary, StrategyKind::kWholeFused,
                                        StrategyKind::kChunkSequential,
                                        StrategyKind::kChunkOverlap};

/// One, two, three and four ranks; heads of 64 and 128; bands along groups and across them; fewer
/// K/V heads than ranks; a rank without tokens.
std::vector<LayoutOptions> layouts(ElementType type) {
  return {{1, {77}, 4, 4, 64, type, {1, 2, 1}},
          {2, {40, 37}, 8, 8, 64, type, {1, 2, 1}},
          {1, {64, 64}, 8, 4, 128, type, {3, 1}},
          {1, {33, 20}, 12, 4, 64, type, {2, 3, 1}},
          {1, {30, 1, 40}, 9, 3, 64, type, {1, 2}},
          {1, {20, 0, 30, 14}, 8, 2, 64, type, {1, 1}},
          {2, {16, 16, 16, 16}, 16, 16, 64, type, {1, 2, 1}}};
}

std::string text_of(const Passes& passes) {
  const UlyssesOptions& options = passes.options;
  return HeadChunkLayout(passes.layout).explain() + to_string(passes.layout.type) + ", " +
         to_string(options.strategy) + ", " + std::to_string(options.slots) + " slots" +
         (options.causal ? ", causal" : "") + (options.graphs ? ", graphs" : "");
}

class DevicePassesTest : public syncopate::cuda::DeviceTest {
 protected:
  static void expect_right(const Passes& passes, const Attention& attention, int gpus) {
    const Outputs expected = expected_on_host(passes);
    const PassesOutcome outcome = make_device_passes(passes, attention, gpus);
    EXPECT_EQ(difference(outcome.outputs, expected, passes.layout.type), "") << text_of(passes);
    const auto races = analysis::find_races(outcome.timeline);
    EXPECT_TRUE(races.empty()) << text_of(passes) << "\n"
                               << analysis::describe(outcome.timeline, races[0]);
  }
  static void expect_all_right(int gpus) {
    const cuda::DeviceAttention attention(gpus);  // one for all: plans take a while to build
    for (const ElementType type : kTypes) {
      for (const LayoutOptions& layout : layouts(type)) {
        for (const StrategyKind strategy : kStrategies) {
          for (const bool graphs : {false, true}) {
            // Causal or not in turn: order does not depend on it.
            const bool causal = graphs != (strategy == StrategyKind::kChunkOverlap);
            expect_right({layout, {.strategy = strategy, .causal = causal, .graphs = graphs}, 4},
                         attention, gpus);
          }
        }
        expect_right({layout, {.slots = 1, .causal = true, .graphs = true}, 4}, attention, gpus);
      }
    }
  }
};

TEST_F(DevicePassesTest, RanksOnOneGpuGiveTheAttentionOfOneHost) { expect_all_right(1); }

TEST_F(DevicePassesTest, RanksOnTwoGpusGiveTheAttentionOfOneHost) {
  if (syncopate::cuda::visible_devices() < 2) GTEST_SKIP() << "skipped: no second CUDA device";
  expect_all_right(2);
}

// What is left of memory after a few passes stays.
TEST_F(DevicePassesTest, ASteadyPassTakesNoDeviceMemory) {
  for (const bool graphs : {false, true}) {
    const HeadChunkLayout layout({1, {128, 128}, 8, 8, 64, ElementType::kBf16, {1, 2, 1}});
    runtime::Runtime runtime(syncopate::cuda::make_cuda_engine({.devices = 2, .gpus = 1}));
    const cuda::DeviceAttention attention(1);
    std::vector<RankTensors> tensors;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const runtime::Device device{rank};
      const auto view = [&](Tensor tensor) {
        return TensorView{runtime.make_buffer(device, runtime::Memory::kDevice,
                                              layout.bytes(tensor, rank), "tensor"),
                          layout.shape(tensor, rank)};
      };
      tensors.push_back({runtime.make_stream(device, runtime::StreamKind::kNonBlocking, "caller"),
                         view(Tensor::kQ), view(Tensor::kK), view(Tensor::kV),
                         view(Tensor::kOutput)});
    }
    UlyssesOptions options;
    options.graphs = graphs;
    Ulysses ulysses(runtime, layout, attention, options, tensors);
    const auto free_memory = [] {
      std::size_t free = 0, total = 0;
      SYNCOPATE_CUDA_CALL(cudaMemGetInfo(&free, &total));
      return free;
    };
    const std::size_t plans = attention.plans();
    std::vector<std::size_t> seen;
    const auto main = [&](runtime::Host& host) {
      for (std::uint32_t pass = 0; pass < 60; ++pass) {
        ulysses.pass(host);
        host.synchronize(tensors[host.device().id].caller, "end");
        if (host.device().id == 0) seen.push_back(free_memory());
      }
    };
    runtime.run(std::vector<runtime::HostMain>(2, main));
    EXPECT_EQ(seen.back(), seen[20]) << (graphs ? "graphs" : "no graphs");
    EXPECT_EQ(attention.plans(), plans);
  }
}

}  // namespace
}  // namespace syncopate::ulysses
