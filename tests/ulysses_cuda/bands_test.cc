// Bands on the device by themselves: against the textbook's formula in double precision, in graphs,
// and what a launch is made of.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backend/cuda/graph.h"
#include "backend/cuda/stream.h"
#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/ulysses_cuda/device_band.h"

namespace syncopate::ulysses {
namespace {

class DeviceBandTest : public syncopate::cuda::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) {
      stream_ = syncopate::cuda::make_stream(runtime::StreamKind::kNonBlocking);
    }
  }

  void expect_textbook(const AttentionBand& sizes) {
    DeviceBand band(attention_, sizes);
    const std::vector<std::byte> slot = random_slot(sizes, 1);
    band.assign(slot);
    band.enqueue(stream_.get());
    expect_near(sizes, band.output(), textbook_attention(sizes, slot.data()));
  }
  syncopate::cuda::OwnedGraph capture(const DeviceBand& band) {
    syncopate::cuda::begin_capture(stream_.get());
    band.enqueue(stream_.get());
    return syncopate::cuda::end_capture(stream_.get());
  }

  cuda::DeviceAttention attention_{1};
  syncopate::cuda::OwnedStream stream_;
};

struct Nodes {
  std::vector<std::string> kernels;  // by name
  std::uint64_t cleared_bytes = 0;   // by memsets
  int others = 0;
};
Nodes nodes_of(const syncopate::cuda::OwnedGraph& graph) {
  std::size_t count = 0;
  SYNCOPATE_CUDA_CALL(cudaGraphGetNodes(graph.get(), nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  SYNCOPATE_CUDA_CALL(cudaGraphGetNodes(graph.get(), nodes.data(), &count));
  Nodes found;
  for (const cudaGraphNode_t node : nodes) {
    CUgraphNodeType type{};
    SYNCOPATE_CUDA_CALL(cuGraphNodeGetType(node, &type));
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
      CUDA_KERNEL_NODE_PARAMS kernel{};
      SYNCOPATE_CUDA_CALL(cuGraphKernelNodeGetParams(node, &kernel));
      const char* name = nullptr;
      if (kernel.func != nullptr) {
        SYNCOPATE_CUDA_CALL(cuFuncGetName(&name, kernel.func));
      } else {
        SYNCOPATE_CUDA_CALL(cuKernelGetName(&name, kernel.kern));
      }
      found.kernels.emplace_back(name);
    } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
      CUDA_MEMSET_NODE_PARAMS clear{};
      SYNCOPATE_CUDA_CALL(cuGraphMemsetNodeGetParams(node, &clear));
      found.cleared_bytes += clear.elementSize * clear.width * clear.height;
    } else {
      ++found.others;
    }
  }
  return found;
}

TEST_F(DeviceBandTest, HalfPrecisionIsTheTextbooksForEveryGroup) {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    for (const std::uint32_t head_dim : {64U, 128U}) {
      for (const BandSizes& sizes : band_sizes(head_dim)) {
        for (const bool causal : {false, true}) expect_textbook(make_band(sizes, type, causal));
      }
    }
  }
}

TEST_F(DeviceBandTest, TheOtherSizesThatCudnnTakesAreTheTextbooks) {
  for (const std::uint32_t head_dim : {8U, 40U, 96U}) {
    expect_textbook(make_band({2, 37, 6, 2, 0, head_dim}, ElementType::kBf16, true));
    expect_textbook(make_band({1, 300, 3, 1, 0, head_dim}, ElementType::kFp16, false));
  }
}

TEST_F(DeviceBandTest, ThePlainKernelIsTheTextbooks) {
  for (const std::uint32_t head_dim : {1U, 33U, 64U, 256U}) {
    for (const BandSizes& sizes : band_sizes(head_dim)) {
      for (const bool causal : {false, true}) {
        expect_textbook(make_band(sizes, ElementType::kFp32, causal));
      }
    }
  }
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    for (const std::uint32_t head_dim : {33U, 256U}) {  // not cuDNN's
      expect_textbook(make_band({2, 40, 3, 4, 1, head_dim}, type, true));
    }
  }
  EXPECT_EQ(attention_.plans(), 0U);
}

// No packing, no copy. What cuDNN clears before a kernel is its scratch memory, of some 256 bytes.
TEST_F(DeviceBandTest, ABandIsAKernelForEachRunOfItsGroupsAndNoCopy) {
  struct Case {
    BandSizes sizes;
    std::size_t kernels;
  };
  for (const Case& c : {Case{{1, 256, 7, 1, 0, 128}, 1}, Case{{2, 100, 8, 4, 0, 128}, 1},
                        Case{{1, 256, 3, 4, 1, 64}, 1}, Case{{1, 256, 6, 4, 0, 64}, 2},
                        Case{{1, 256, 8, 4, 1, 64}, 3}}) {
    for (const ElementType type : {ElementType::kBf16, ElementType::kFp32}) {
      const DeviceBand band(attention_, make_band(c.sizes, type, false));
      const Nodes nodes = nodes_of(capture(band));
      EXPECT_EQ(nodes.kernels.size(), type == ElementType::kFp32 ? 1 : c.kernels)
          << text_of(band.band()) << ": " << testing::PrintToString(nodes.kernels);
      EXPECT_LE(nodes.cleared_bytes, nodes.kernels.size() * band.scratch_bytes());
      EXPECT_EQ(nodes.others, 0) << text_of(band.band());
    }
  }
}

TEST_F(DeviceBandTest, AGraphGivesTheOutputOfWhateverLiesThere) {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16, ElementType::kFp32}) {
    DeviceBand band(attention_, make_band({1, 90, 8, 3, 1, 64}, type, true));
    const auto graph = capture(band);
    const auto exec = syncopate::cuda::instantiate(graph, stream_.get());
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      const std::vector<std::byte> slot = random_slot(band.band(), seed);
      band.assign(slot);
      SYNCOPATE_CUDA_CALL(cudaGraphLaunch(exec.get(), stream_.get()));
      expect_near(band.band(), band.output(), textbook_attention(band.band(), slot.data()));
    }
  }
}

// Plans are built before the run or not at all, so never inside of a capture.
TEST_F(DeviceBandTest, ABandThatWasNotPreparedIsRefused) {
  const AttentionBand band = make_band({1, 64, 4, 1, 0, 64}, ElementType::kBf16, false);
  std::byte* bases[] = {nullptr, nullptr};
  runtime::Exec exec(bases, stream_.get());
  const runtime::Kernel kernel =
      attention_.kernel(band, {runtime::Buffer{0}, 0, runtime::Buffer{1}});
  EXPECT_THROW(kernel.cuda(exec), runtime::UsageError);
}

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  SYNCOPATE_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return free;
}

TEST_F(DeviceBandTest, LaunchesTakeNoDeviceMemory) {
  for (const ElementType type : {ElementType::kBf16, ElementType::kFp32}) {
    const DeviceBand band(attention_, make_band({1, 2000, 8, 4, 1, 128}, type, false));
    const std::size_t before = free_memory();
    for (int launch = 0; launch < 20; ++launch) band.enqueue(stream_.get());
    EXPECT_EQ(free_memory(), before) << to_string(type);
  }
}

// A new shape is a new plan, which prepare() makes; the kernels are the same few by name.
TEST_F(DeviceBandTest, TwentyShapesAreTheSameFewKernels) {
  std::set<std::string> kernels;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const DeviceBand band(attention_, make_band({1 + i % 2, 1000 + 37 * i, 1 + i, 1, 0, 128},
                                                ElementType::kBf16, false));
    for (const std::string& name : nodes_of(capture(band)).kernels) kernels.insert(name);
  }
  EXPECT_EQ(attention_.plans(), 20U);
  EXPECT_LE(kernels.size(), 2U) << testing::PrintToString(kernels);
}

}  // namespace
}  // namespace syncopate::ulysses
