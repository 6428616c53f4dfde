// The integer choice against its definition: sort, cut, cut, cut, draw.
#include "backend/models/hash/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/models/choose_oracle.h"

namespace syncopate::models::hash {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::uint32_t kOne = RowSampling::kOne;
constexpr std::int64_t kUnit = std::int64_t{1} << kScoreBits;  // a logit of 1
constexpr RowSampling kOff = {
    .temperature = kOne, .top_k = 0, .top_p = kOne, .min_p = 0, .penalty = kOne, .seed = 0};

// Scores out of a vector, combined from the back: the order must not matter.
struct VectorScores {
  const Values& values;
  template <class T, class Of, class Join>
  T reduce(T first, Of of, Join join) {
    T result = first;
    for (auto id = static_cast<std::uint32_t>(values.size()); id-- > 0;) {
      result = join(of(id, values[id]), result);
    }
    return result;
  }
};

std::uint32_t choose(const Values& values, const RowSampling& sampling, std::uint64_t random) {
  VectorScores scores{values};
  return Chooser(scores, sampling).choose(random);
}

TEST(Chooser, ChoosesWhatTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    // From rows full of ties to rows whose best stands alone.
    Values values(1 + below(seed % 4 == 0 ? 3 : 200));
    const std::int64_t spread = std::int64_t{1} << below(36);
    const std::int64_t grain = std::int64_t{1} << below(31);
    for (std::int64_t& value : values) {
      value = (static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(spread))) - spread) /
              grain * grain;
    }
    RowSampling sampling = kOff;
    sampling.temperature =
        static_cast<std::uint32_t>(below(RowSampling::kMaxTemperature >> below(20)));
    if (below(2)) sampling.top_k = static_cast<std::uint32_t>(below(values.size() + 3));
    if (below(2)) sampling.top_p = static_cast<std::uint32_t>(1 + below(kOne));
    if (below(2)) sampling.min_p = static_cast<std::uint32_t>(below(kOne + 1) >> below(10));
    for (const std::uint64_t bits : {random(), random(), std::uint64_t{0}, UINT64_MAX}) {
      ASSERT_EQ(choose(values, sampling, bits), defined_choice(values, sampling, bits))
          << "seed " << seed;
    }
  }
}

Values random_values(std::mt19937_64& random, std::size_t count) {
  Values values(count);
  for (std::int64_t& value : values) value = score(static_cast<std::uint32_t>(random()));
  return values;
}

TEST(Chooser, IsGreedyWhenOneIdIsLeft) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    Values values = random_values(random, 50);
    values[random() % 50] = values[random() % 50];  // now and then, two that are best
    const auto best =
        static_cast<std::uint32_t>(std::max_element(values.begin(), values.end()) - values.begin());
    RowSampling greedy = kOff, top_k = kOff, top_p = kOff, cold = kOff;
    greedy.temperature = 0;
    top_k.top_k = 1;
    top_p.top_p = 1;
    for (const RowSampling& sampling : {greedy, top_k, top_p}) {
      EXPECT_EQ(choose(values, sampling, random()), best);
    }
    cold.temperature = 1;
    EXPECT_EQ(values[choose(values, cold, random())], values[best]);
  }
}

TEST(Chooser, KeepsOnlyEqualsOfTheBestWithAMinPOfOne) {
  RowSampling sampling = kOff;
  sampling.min_p = kOne;
  const Values values = {3 * kUnit, 5 * kUnit, 4 * kUnit, 5 * kUnit};
  std::mt19937_64 random(2);
  std::vector<int> counts(4);
  for (int draw = 0; draw < 1000; ++draw) ++counts[choose(values, sampling, random())];
  EXPECT_EQ(counts[0] + counts[2], 0);
  EXPECT_GT(counts[1], 400);
  EXPECT_GT(counts[3], 400);
}

TEST(Chooser, PrefersTheLowerIdAmongEqualsInEveryFilter) {
  const Values values(10, -kUnit);
  RowSampling top_k = kOff, top_p = kOff;
  top_k.top_k = 4;
  top_p.top_p = kOne * 2 / 5;  // rounds down: 26214, just below 4 of 10
  for (const RowSampling& sampling : {top_k, top_p}) {
    EXPECT_EQ(choose(values, sampling, 0), 0U);
    EXPECT_EQ(choose(values, sampling, UINT64_MAX), 3U);
  }
}

// Pearson's statistic of `draws` draws at positions 0, 1, ...
double chi_square(const Values& values, const RowSampling& sampling,
                  const std::vector<double>& expected, std::uint32_t draws) {
  std::vector<double> counts(values.size());
  for (std::uint32_t position = 0; position < draws; ++position) {
    ++counts[choose(values, sampling, random_bits(sampling.seed, position))];
  }
  double statistic = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) {
    const double mean = expected[id] * draws;
    if (mean == 0) {
      EXPECT_EQ(counts[id], 0) << "id " << id;
    } else {
      statistic += (counts[id] - mean) * (counts[id] - mean) / mean;
    }
  }
  return statistic;
}

std::vector<double> normalised(std::vector<double> values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= total;
  return values;
}

// The statistic has a mean of n - 1 and a variance of 2 (n - 1), n the ids that can be drawn. Seeds
// are fixed, so a pass is one for good.
double far_off(double n) { return n - 1 + 4 * std::sqrt(2 * (n - 1)); }

TEST(Chooser, DrawsByTheSoftmax) {
  const Values values = {2 * kUnit, -kUnit, kUnit / 2, 0, kUnit, 2 * kUnit, -3 * kUnit, kUnit};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
      RowSampling sampling = kOff;
      sampling.temperature = static_cast<std::uint32_t>(temperature * kOne);
      sampling.seed = seed;
      std::vector<double> expected;
      for (const std::int64_t value : values) {
        expected.push_back(std::exp(std::ldexp(static_cast<double>(value), -28) / temperature));
      }
      EXPECT_LT(chi_square(values, sampling, normalised(expected), 40'000), far_off(8))
          << "temperature " << temperature << ", seed " << seed;
    }
  }
}

TEST(Chooser, DrawsByTheSoftmaxOfWhatTheFiltersLeave) {
  // Shares of 16, 8, 4, 2, 1 and 1 in 32, by powers of 2.
  const double ln2 = std::log(2.0) * static_cast<double>(kUnit);
  Values values;
  for (const double halvings : {3.0, 0.0, 4.0, 1.0, 4.0, 2.0}) {
    values.push_back(-std::llround(halvings * ln2));
  }
  RowSampling top_k = kOff, top_p = kOff, min_p = kOff;
  top_k.top_k = 5;                        // drops the higher of the two rarest
  top_p.top_p = 27 * kOne / 32;           // 24 of 32 are not enough: keeps 28
  min_p.min_p = kOne / 4 - kOne / 65536;  // just below: no quarter falls to a rounding
  EXPECT_LT(chi_square(values, top_k, normalised({2, 16, 1, 8, 0, 4}), 30'000), far_off(5));
  EXPECT_LT(chi_square(values, top_p, normalised({0, 16, 0, 8, 0, 4}), 30'000), far_off(3));
  EXPECT_LT(chi_square(values, min_p, normalised({0, 16, 0, 8, 0, 4}), 30'000), far_off(3));
}

TEST(Chooser, IsNearlyUniformWhenHot) {
  Values values;
  for (std::int64_t i = 0; i < 16; ++i) values.push_back((i % 3 - 1) * kUnit / 64);
  RowSampling hot = kOff;
  hot.temperature = RowSampling::kMaxTemperature;
  EXPECT_LT(chi_square(values, hot, std::vector<double>(16, 1.0 / 16), 30'000), far_off(16));
}

}  // namespace
}  // namespace syncopate::models::hash
