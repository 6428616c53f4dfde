// The CUDA sides of the shared kernels against their host sides.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backend/models/batch_layout.h"
#include "backend/models/carry.h"
#include "backend/models/hash/hash_model.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using models::BatchLayout;
using models::BatchLimits;
using runtime::Buffer;
using runtime::Host;
using runtime::Memory;
using runtime::Region;
using runtime::StreamKind;

using Words = std::vector<std::int32_t>;

constexpr BatchLimits kLimits{
    .rows = 9, .tokens = 300, .pages_per_row = 130, .page_tokens = 16, .pages = 1200};

std::int32_t below(std::mt19937_64& random, std::uint64_t bound) {
  return static_cast<std::int32_t>(random() % bound);
}

Words random_words(std::mt19937_64& random, std::size_t count) {
  Words words(count);
  for (std::int32_t& word : words) word = static_cast<std::int32_t>(random());
  return words;
}

models::Sampling random_sampling(std::mt19937_64& random) {
  models::Sampling sampling;
  if (random() % 2) return sampling;
  const auto share = [&] { return static_cast<double>(1 + random() % 1000) / 1000; };
  if (random() % 4) sampling.temperature = 3 * share();
  if (random() % 2) sampling.top_k = static_cast<std::uint32_t>(random() % 100);
  if (random() % 2) sampling.top_p = share();
  if (random() % 2) sampling.min_p = share() / 10;
  if (random() % 2) sampling.repetition_penalty = 0.5 + 2 * share();
  sampling.seed = random();
  return sampling;
}

// A batch as a scheduler would make it: rows of different lengths, some of them decode rows, on
// pages that no two rows share. Lengths reach past one tile of the kernel. Half the rows sample.
Words random_batch(std::mt19937_64& random, const BatchLayout& layout, std::uint32_t vocab) {
  const BatchLimits& limits = layout.limits();
  Words block(layout.input_words());
  const std::int32_t rows = 1 + below(random, limits.rows);
  block[BatchLayout::kRows] = rows;
  std::vector<std::int32_t> pages(limits.pages);
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);

  std::int32_t token = 0;
  for (std::int32_t row = 0; row < rows; ++row) {
    const std::int32_t count = random() % 2 ? 1 : 1 + below(random, limits.tokens / limits.rows);
    const std::int32_t start = below(
        random, limits.pages_per_row * limits.page_tokens - static_cast<std::uint32_t>(count));
    block[layout.row_start() + row] = token;
    block[layout.kv_length() + row] = start + count;
    block[layout.carry() + row] = below(random, limits.rows + 1) - 1;
    for (std::int32_t i = 0; i < count; ++i, ++token) {
      block[layout.ids() + token] = below(random, vocab);
      block[layout.positions() + token] = start + i;
    }
    const models::SamplingWords sampling = models::encode(random_sampling(random));
    std::copy(sampling.begin(), sampling.end(),
              block.begin() + layout.sampling() + row * std::int32_t{models::kSamplingWords});
    for (std::uint32_t page = 0; page < limits.pages_per_row; ++page) {
      block[layout.block_table() + row * limits.pages_per_row + page] =
          pages[static_cast<std::uint32_t>(row) * limits.pages_per_row + page];
    }
  }
  block[layout.row_start() + rows] = token;
  block[BatchLayout::kTokens] = token;
  return block;
}

// Buffers of words, each once on the host as a plain vector and once on the device.
class Twin {
 public:
  explicit Twin(std::vector<Words> words)
      : words_(std::move(words)), runtime_(make_cuda_engine({})) {
    stream_ = runtime_.make_stream(kDevice, StreamKind::kNonBlocking, "stream");
    for (const Words& buffer : words_) {
      device_.push_back(
          runtime_.make_buffer(kDevice, Memory::kDevice, buffer.size() * 4, "device"));
    }
    for (const Words& buffer : words_) {
      pinned_.push_back(
          runtime_.make_buffer(kDevice, Memory::kPinned, buffer.size() * 4, "pinned"));
      std::memcpy(runtime_.host_data(pinned_.back()), buffer.data(), buffer.size() * 4);
    }
  }

  Buffer device(std::size_t i) const { return device_[i]; }

  // Runs both sides of `kernel`, which names the device buffers. Once only.
  void run_both(const runtime::Kernel& kernel) {
    std::vector<std::byte*> bases;  // device buffers have the first ids
    for (Words& buffer : words_) bases.push_back(reinterpret_cast<std::byte*>(buffer.data()));
    runtime::Exec exec(bases.data(), nullptr);
    kernel.host(exec);
    run_on_device(kernel);
  }

  void run_on_device(const runtime::Kernel& kernel) {
    run(runtime_, [&](Host& host) {
      for (std::size_t i = 0; i < words_.size(); ++i) {
        host.copy(stream_, "in", whole(device_[i], i), whole(pinned_[i], i));
      }
      host.launch(stream_, "kernel", kFree, {}, kernel);
      for (std::size_t i = 0; i < words_.size(); ++i) {
        host.copy(stream_, "out", whole(pinned_[i], i), whole(device_[i], i));
      }
      host.synchronize(stream_, "end");
    });
  }

  const Words& on_host(std::size_t i) const { return words_[i]; }
  Words on_device(std::size_t i) const {
    const auto* data = runtime_.host_data<const std::int32_t>(pinned_[i]);
    return Words(data, data + words_[i].size());
  }

 private:
  Region whole(Buffer buffer, std::size_t i) const {
    return Region::flat(buffer, 0, words_[i].size() * 4);
  }

  std::vector<Words> words_;
  runtime::Runtime runtime_;
  runtime::Stream stream_;
  std::vector<Buffer> device_, pinned_;
};

class CudaModelsTest : public CudaTest {};

TEST_F(CudaModelsTest, CarryGivesWhatTheHostSideGives) {
  const BatchLayout layout(kLimits);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Twin twin({random_batch(random, layout, 1000), random_words(random, layout.output_words())});
    twin.run_both(models::carry_kernel(layout, twin.device(0), twin.device(1)));
    EXPECT_EQ(twin.on_device(0), twin.on_host(0));
    EXPECT_EQ(twin.on_device(1), twin.on_host(1));
  }
}

// Buffers 0 to 3: inputs, outputs, KV pool, history. The history's ids are inside the vocabulary
// or, one in eight, not.
Twin hash_twin(std::mt19937_64& random, const BatchLayout& layout, Words block,
               std::uint32_t vocab) {
  const std::size_t entries = std::size_t{kLimits.pages} * kLimits.page_tokens;
  Words history = random_words(random, entries);
  for (std::int32_t& id : history) {
    if (random() % 8) id = below(random, vocab);
  }
  return Twin({std::move(block), random_words(random, layout.output_words()),
               random_words(random, entries), std::move(history)});
}

runtime::Kernel hash_kernel(const models::hash::HashModel& model, const BatchLayout& layout,
                            const Twin& twin) {
  return model.forward(layout,
                       {.inputs = twin.device(0),
                        .outputs = twin.device(1),
                        .kv = twin.device(2),
                        .history = twin.device(3),
                        .workspace = {}},
                       {});
}

TEST_F(CudaModelsTest, TheHashModelGivesTheBitsThatTheHostSideGives) {
  const BatchLayout layout(kLimits);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    // Fewer ids than threads, counts that are no multiple of them, and more than a pass notes.
    const std::uint64_t ids = seed % 8 == 0 ? 80'000 : seed % 2 ? 3000 : 60;
    const auto vocab = static_cast<std::uint32_t>(2 + random() % ids);
    const models::hash::HashModel model({.vocab = vocab, .seed = static_cast<std::uint32_t>(seed)});
    Twin twin = hash_twin(random, layout, random_batch(random, layout, vocab), vocab);
    twin.run_both(hash_kernel(model, layout, twin));
    EXPECT_EQ(twin.on_device(1), twin.on_host(1)) << "next ids";
    EXPECT_EQ(twin.on_device(2), twin.on_host(2)) << "KV pool";
    EXPECT_EQ(twin.on_device(3), twin.on_host(3)) << "history";
  }
}

TEST_F(CudaModelsTest, TheHashModelSamplesWithoutAHistoryWhatTheHostSideSamples) {
  const BatchLayout layout(kLimits);
  std::mt19937_64 random(7);
  const models::hash::HashModel model({.vocab = 500});
  Twin twin = hash_twin(random, layout, random_batch(random, layout, 500), 500);
  twin.run_both(model.forward(layout,
                              {.inputs = twin.device(0),
                               .outputs = twin.device(1),
                               .kv = twin.device(2),
                               .history = {},
                               .workspace = {}},
                              {}));
  EXPECT_EQ(twin.on_device(1), twin.on_host(1));
}

TEST_F(CudaModelsTest, TheHashModelStaysInItsMemoryOnGarbage) {
  const BatchLayout layout(kLimits);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const models::hash::HashModel model({.vocab = 100});
    Twin twin = hash_twin(random, layout, random_words(random, layout.input_words()), 100);
    EXPECT_NO_THROW(twin.run_on_device(hash_kernel(model, layout, twin)));
    const std::int32_t rows = std::clamp<std::int32_t>(twin.on_host(0)[BatchLayout::kRows], 0,
                                                       static_cast<std::int32_t>(kLimits.rows));
    const Words ids = twin.on_device(1);
    for (std::int32_t row = 0; row < rows; ++row) {
      EXPECT_GE(ids[static_cast<std::size_t>(row)], 0);
      EXPECT_LT(ids[static_cast<std::size_t>(row)], 100);
    }
  }
}

}  // namespace
}  // namespace syncopate::cuda
