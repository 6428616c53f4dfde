// The device's choice against the CPU's, on the same logits.
#include "backend/models/llama/cuda/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backend/models/llama/cpu/sampler.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {
namespace {

constexpr runtime::Buffer kHistory{0};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Ints = std::vector<std::int32_t>;

// A batch of rows that have nothing but a past and a way to choose.
struct Rows {
  Rows(std::uint32_t rows, std::uint32_t vocabulary)
      : vocab(vocabulary),
        limits{
            .rows = rows, .tokens = rows, .pages_per_row = 8, .page_tokens = 4, .pages = 8 * rows},
        layout(limits),
        block(layout.input_words()),
        history(limits.pages * limits.page_tokens),
        logits(std::size_t{rows} * vocab) {
    block[BatchLayout::kRows] = static_cast<std::int32_t>(rows);
    for (std::uint32_t i = 0; i < limits.pages; ++i) {  // backwards
      block[layout.block_table() + i] = static_cast<std::int32_t>(limits.pages - 1 - i);
    }
  }
  void set(std::uint32_t row, const Sampling& sampling, std::uint32_t length) {
    const SamplingWords words = encode(sampling);
    std::copy(words.begin(), words.end(), block.begin() + layout.sampling() + row * kSamplingWords);
    block[layout.kv_length() + row] = static_cast<std::int32_t>(length);
  }

  Ints on_device() const {
    const DeviceArray<std::int32_t> inputs(block), ids(history), next_id(Ints(limits.rows, -1));
    const DeviceArray<float> scores(logits);
    const DeviceArray<std::byte> scratch(sampler_bytes(limits.rows, vocab));
    const BatchView batch(inputs.data(), layout);
    std::byte* base = reinterpret_cast<std::byte*>(ids.data());
    const HistoryView view(batch, runtime::Exec(&base, nullptr), kHistory, vocab);
    enqueue_sample(nullptr, batch, limits.rows, vocab, scores.data(), view, scratch.data(),
                   next_id.data());
    return next_id.read();
  }
  Ints on_host() {
    const BatchView batch(block.data(), layout);
    std::byte* base = reinterpret_cast<std::byte*>(history.data());
    const HistoryView view(batch, runtime::Exec(&base, nullptr), kHistory, vocab);
    const std::size_t padded = (vocab + 15) / 8 * 8;
    std::vector<float> scores(padded), weights(padded);
    std::vector<std::uint32_t> ranking(padded);
    Ints ids;
    for (std::uint32_t row = 0; row < limits.rows; ++row) {
      ids.push_back(choose(&logits[std::size_t{row} * vocab], vocab, batch.sampling(row),
                           {view, row, batch.kv_length(row)},
                           {scores.data(), weights.data(), ranking.data()}));
    }
    return ids;
  }

  std::uint32_t vocab;
  BatchLimits limits;
  BatchLayout layout;
  Ints block;
  Ints history;
  std::vector<float> logits;
};

class SamplerTest : public cuda::DeviceTest {
 protected:
  double share() { return static_cast<double>(1 + random_() % 1000) / 1000; }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  Sampling random_sampling(std::uint32_t vocab) {
    Sampling sampling;
    if (below(4)) sampling.temperature = below(5) ? 2 * share() : 100 * share();
    if (below(2)) sampling.top_k = below(below(2) ? 30 : vocab + 5);
    if (below(2)) sampling.top_p = share();
    if (below(2)) sampling.min_p = share() / 10;
    if (below(2)) sampling.repetition_penalty = 0.5 + 2 * share();
    sampling.seed = random_();
    return sampling;
  }

  // Spread as a model's are; in few steps, so that there are ties; or none at all. Some hold what
  // no model should give.
  void fill(float* logits, std::uint32_t vocab) {
    std::normal_distribution<float> normal(below(2) ? -2.0f : 0.0f,
                                           0.1f + 4 * static_cast<float>(below(3)));
    const bool flat = below(8) == 0;
    const float step = below(3) ? 0.0f : 0.5f;
    for (std::uint32_t id = 0; id < vocab; ++id) {
      logits[id] = flat ? 0.0f : normal(random_);
      if (step > 0) logits[id] = std::round(logits[id] / step) * step;  // -0 among them
    }
    if (below(4)) return;
    static constexpr std::array kOdd = {
        kNan, -kNan, kInfinity, -kInfinity, std::numeric_limits<float>::max(), -0.0f};
    for (std::uint32_t i = 0; i < 1 + vocab / 100; ++i) logits[below(vocab)] = kOdd[below(6)];
  }

  Rows random_rows(std::uint32_t count, std::uint32_t vocab) {
    Rows rows(count, vocab);
    for (std::int32_t& id : rows.history) id = static_cast<std::int32_t>(below(vocab));
    for (std::uint32_t row = 0; row < count; ++row) {
      fill(&rows.logits[std::size_t{row} * vocab], vocab);
      rows.set(row, random_sampling(vocab), below(33));
    }
    return rows;
  }

  std::mt19937_64 random_{3};
};

// Also the sampled ones: weights have the same bits on both sides. Their sums do not, doubles in
// rank order here and whole numbers there; but the two are within 2^-28 of each other, and what is
// drawn would have to fall in between.
TEST_F(SamplerTest, ChoosesAsTheCpuDoes) {
  for (const std::uint32_t vocab : {1U, 2U, 61U, 512U, 1025U, 4099U}) {
    for (int i = 0; i < 8; ++i) {
      SCOPED_TRACE("vocabulary of " + std::to_string(vocab) + ", case " + std::to_string(i));
      Rows rows = random_rows(24, vocab);
      EXPECT_EQ(rows.on_device(), rows.on_host());
    }
  }
}

TEST_F(SamplerTest, ChoosesAsTheCpuDoesFromALargeVocabulary) {
  Rows rows = random_rows(24, 128256);
  EXPECT_EQ(rows.on_device(), rows.on_host());
}

TEST_F(SamplerTest, GreedyTakesTheLowestOfTheLargestAndPassesNanOver) {
  Rows rows(5, 3000);
  std::fill(rows.logits.begin(), rows.logits.end(), -1.0f);
  const auto row = [&](std::size_t r) { return &rows.logits[r * 3000]; };
  row(0)[2999] = row(0)[1500] = 2;
  row(1)[7] = kNan, row(1)[8] = -0.5f;
  std::fill_n(row(2), 3000, kNan);
  std::fill_n(row(3), 3000, -kInfinity);
  row(4)[2] = -0.0f, row(4)[3] = 0.0f;
  EXPECT_EQ(rows.on_device(), (Ints{1500, 8, 0, 0, 2}));
}

TEST_F(SamplerTest, LeavesPaddingRowsAlone) {
  Rows rows(4, 100);
  rows.block[BatchLayout::kRows] = 2;
  EXPECT_EQ(rows.on_device(), (Ints{0, 0, -1, -1}));
}

TEST_F(SamplerTest, StaysInTheVocabularyWhateverTheBlockHolds) {
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    Rows rows = random_rows(9, 777);
    for (std::int32_t& word : rows.block) {
      if (below(2)) word = static_cast<std::int32_t>(random_());
    }
    for (std::int32_t& id : rows.history) id = static_cast<std::int32_t>(random_());
    const Ints ids = rows.on_device();
    EXPECT_TRUE(
        std::all_of(ids.begin(), ids.end(), [](std::int32_t id) { return id >= -1 && id < 777; }));
  }
}

TEST_F(SamplerTest, DrawsEachIdAsOftenAsItsShareSays) {
  constexpr std::uint32_t kRows = 1000, kVocab = 6, kRounds = 8;
  const std::array<float, kVocab> logits = {0.5f, -1, 2, 1, 0, 1.5f};
  constexpr double kTemperature = 0.75;
  std::array<double, kVocab> shares;
  double total = 0;
  for (std::size_t id = 0; id < kVocab; ++id) {
    total += shares[id] = std::exp(logits[id] / kTemperature);
  }
  Rows rows(kRows, kVocab);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    std::copy(logits.begin(), logits.end(), &rows.logits[row * kVocab]);
  }
  std::array<double, kVocab> counts{};
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      rows.set(row, {.temperature = kTemperature, .seed = row}, round);
    }
    for (const std::int32_t id : rows.on_device()) ++counts[static_cast<std::size_t>(id)];
  }
  constexpr double kDraws = kRows * kRounds;
  for (std::size_t id = 0; id < kVocab; ++id) {
    const double share = shares[id] / total;
    const double deviation = std::sqrt(kDraws * share * (1 - share));
    EXPECT_NEAR(counts[id], kDraws * share, 4 * deviation) << id;
  }
}

}  // namespace
}  // namespace syncopate::models::llama
