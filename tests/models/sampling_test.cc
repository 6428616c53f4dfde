// From a request's sampling to what a kernel reads of it.
#include "backend/models/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/models/batch_view.h"
#include "backend/runtime/error.h"

namespace syncopate::models {
namespace {

const BatchLayout kLayout(
    {.rows = 2, .tokens = 2, .pages_per_row = 1, .page_tokens = 1, .pages = 1});

// What a kernel reads in row 1 of a block that has `words` there and -1 all around.
RowSampling read(const SamplingWords& words) {
  std::vector<std::int32_t> block(kLayout.input_words(), -1);
  std::copy(words.begin(), words.end(), block.begin() + kLayout.sampling() + kSamplingWords);
  return BatchView(block.data(), kLayout).sampling(1);
}

TEST(Sampling, IsGreedyByDefaultAndAllZeros) {
  EXPECT_EQ(encode({}), SamplingWords{});
  const RowSampling row = read({});
  EXPECT_TRUE(row.plain());
  EXPECT_EQ(row.top_k, 0U);
  EXPECT_EQ(row.top_p, RowSampling::kOne);
  EXPECT_EQ(row.min_p, 0U);
}

TEST(Sampling, ReachesTheKernelInStepsOfA65536th) {
  const RowSampling row = read(encode({.temperature = 0.75,
                                       .top_k = 40,
                                       .top_p = 0.9,
                                       .min_p = 0.05,
                                       .repetition_penalty = 1.1,
                                       .seed = 0x8123456789abcdefU}));
  EXPECT_EQ(row.temperature, 49152U);
  EXPECT_EQ(row.top_k, 40U);
  EXPECT_EQ(row.top_p, 58982U);    // 58982.4
  EXPECT_EQ(row.min_p, 3277U);     // 3276.8
  EXPECT_EQ(row.penalty, 72090U);  // 72089.6
  EXPECT_EQ(row.seed, 0x8123456789abcdefU);
  EXPECT_FALSE(row.greedy());
  EXPECT_TRUE(row.penalises());
}

TEST(Sampling, KeepsTheEndsOfEachRange) {
  const RowSampling high = read(encode({.temperature = 100,
                                        .top_k = UINT32_MAX,
                                        .top_p = 1,
                                        .min_p = 1,
                                        .repetition_penalty = 100,
                                        .seed = UINT64_MAX}));
  EXPECT_EQ(high.temperature, 6553600U);
  EXPECT_EQ(high.top_k, 0x7fffffffU);
  EXPECT_EQ(high.top_p, 65536U);
  EXPECT_EQ(high.min_p, 65536U);
  EXPECT_EQ(high.penalty, 6553600U);
  EXPECT_EQ(high.seed, UINT64_MAX);
  // What is above 0 stays so: a small temperature must not turn a row greedy.
  const RowSampling low =
      read(encode({.temperature = 1e-9, .top_p = 1e-9, .min_p = 1e-9, .repetition_penalty = 1e-9}));
  EXPECT_EQ(low.temperature, 1U);
  EXPECT_EQ(low.top_p, 1U);
  EXPECT_EQ(low.min_p, 1U);
  EXPECT_EQ(low.penalty, 1U);
}

TEST(Sampling, RefusesWhatIsOutOfRangeByName) {
  const auto refusal = [](const Sampling& sampling) -> std::string {
    try {
      encode(sampling);
    } catch (const runtime::UsageError& error) {
      return error.what();
    }
    return "";
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {-0.1, 100.1, kNan, kInfinity}) {
    EXPECT_NE(refusal({.temperature = value}).find("temperature"), std::string::npos) << value;
  }
  for (const double value : {0.0, -0.5, 1.01, kNan}) {
    EXPECT_NE(refusal({.top_p = value}).find("top_p"), std::string::npos) << value;
  }
  for (const double value : {-0.01, 1.01, kNan}) {
    EXPECT_NE(refusal({.min_p = value}).find("min_p"), std::string::npos) << value;
  }
  for (const double value : {0.0, -1.0, 100.1, kNan, kInfinity}) {
    EXPECT_NE(refusal({.repetition_penalty = value}).find("repetition_penalty"), std::string::npos)
        << value;
  }
  EXPECT_EQ(refusal({.top_p = 1.5}), "sampling: top_p must be above 0 and at most 1, not 1.5");
}

TEST(Sampling, IsInsideItsRangesWhateverTheBlockHolds) {
  const std::int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -65537, -65536, -65535,   -1,
                               1,         65535,         65536,  65537,  INT32_MAX};
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    SamplingWords words;
    for (std::int32_t& word : words) {
      word = round % 2 ? static_cast<std::int32_t>(random()) : ends[random() % std::size(ends)];
    }
    const RowSampling row = read(words);
    EXPECT_LE(row.temperature, RowSampling::kMaxTemperature);
    EXPECT_LE(row.top_k, 0x7fffffffU);
    EXPECT_GE(row.top_p, 1U);
    EXPECT_LE(row.top_p, RowSampling::kOne);
    EXPECT_LE(row.min_p, RowSampling::kOne);
    EXPECT_GE(row.penalty, 1U);
    EXPECT_LE(row.penalty, RowSampling::kMaxPenalty);
  }
}

TEST(RandomBits, DifferByPositionAndBySeed) {
  // Seeds that are one step of the generator apart must not walk the same sequence.
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::vector<std::uint64_t> all;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, kStep, 2 * kStep}) {
    for (std::uint32_t position = 0; position < 1000; ++position) {
      all.push_back(random_bits(seed, position));
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace syncopate::models
