// Attention by libtorch on the host.
#include "backend/ulysses/torch/torch_attention.h"

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "tests/ulysses/attention_bands.h"

namespace syncopate::ulysses {
namespace {

// Every product here is tiny, and streams are threads of their own: a team of libtorch's threads
// for each would only wait for one another.
const bool kOneThread = (at::set_num_threads(1), true);

std::vector<std::byte> attend(const AttentionBand& band, std::vector<std::byte> slot) {
  std::vector<std::byte> output(output_bytes(band));
  std::byte* bases[] = {slot.data(), output.data()};
  runtime::Exec exec(bases, nullptr);
  TorchAttention().kernel(band, {runtime::Buffer{0}, 0, runtime::Buffer{1}}).host(exec);
  return output;
}

TEST(TorchAttentionTest, IsTheTextbooksForEveryTypeAndGroup) {
  ASSERT_TRUE(kOneThread);
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16, ElementType::kFp32}) {
    for (const std::uint32_t head_dim : {5U, 64U}) {
      for (const BandSizes& sizes : band_sizes(head_dim)) {
        for (const bool causal : {false, true}) {
          const AttentionBand band = make_band(sizes, type, causal);
          const std::vector<std::byte> slot = random_slot(band, 1);
          const std::vector<std::byte> output = attend(band, slot);
          expect_near(band, values_at(output.data(), elements_of(band, band.query_heads), type),
                      textbook_attention(band, slot.data()));
        }
      }
    }
  }
}

TEST(TorchAttentionTest, PassesOnThreadsGiveTheAttentionOfOneDevice) {
  for (const bool causal : {false, true}) {
    const Passes passes{
        {2, {5, 9}, 12, 4, 16, ElementType::kFp32, {1, 4, 1}}, {.causal = causal}, 4};
    const Outputs expected = expected_outputs(passes);
    const Outputs found =
        make_passes(cpu::make_cpu_engine({}, 2), passes, {}, TorchAttention()).outputs;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
      ASSERT_EQ(found[rank].size(), expected[rank].size());
      for (std::size_t i = 0; i < expected[rank].size(); ++i) {
        ASSERT_NEAR(found[rank][i], expected[rank][i], 1e-5);
      }
    }
  }
}

/// libtorch's allocator, with a count of the bytes that it gives.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : inner_(*c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 1); }
  ~CountingAllocator() override { c10::SetCPUAllocator(&inner_, 1); }

  c10::DataPtr allocate(std::size_t bytes) override {
    bytes_ += bytes;
    return inner_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    inner_.copy_data(to, from, bytes);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  c10::Allocator& inner_;
  std::size_t bytes_ = 0;
};

TEST(TorchAttentionTest, CopiesNoInput) {
  // K and V for each query head would take twice the output, and a copy of q once.
  for (const BandSizes& sizes :
       {BandSizes{1, 1024, 8, 8, 0, 64}, BandSizes{1, 1024, 8, 1, 0, 64}}) {
    const AttentionBand band = make_band(sizes, ElementType::kFp32, false);
    const std::vector<std::byte> slot = random_slot(band, 1);
    const CountingAllocator counting;
    attend(band, slot);
    EXPECT_GE(counting.bytes(), output_bytes(band)) << text_of(band);
    EXPECT_LT(counting.bytes(), 2 * output_bytes(band)) << text_of(band);
  }
}

}  // namespace
}  // namespace syncopate::ulysses
