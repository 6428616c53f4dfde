#include "experiments/sweep/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace syncopate::experiments {
namespace {

/// The mean of every draw of three out of three, with replacement.
std::vector<double> all_means(const std::vector<double>& v) {
  std::vector<double> means;
  for (const double a : v) {
    for (const double b : v) {
      for (const double c : v) means.push_back((a + b + c) / 3);
    }
  }
  return means;
}

/// Of 27 x 27 equally likely ratios: the bounds must be the ratios at 2.5 and 97.5 %, but for the
/// luck of the draws (of 20,000, whose shares are off by a thousandth).
TEST(Bootstrap, IsTheMiddleOfAllResamplings) {
  const std::vector<double> a{1.0, 1.1, 1.4};
  const std::vector<double> b{2.0, 2.3, 2.9};
  std::vector<double> ratios;
  for (const double lower : all_means(a)) {
    for (const double upper : all_means(b)) ratios.push_back(upper / lower);
  }
  const auto bounds = ratio_bounds(a, b, /*seed=*/7, /*resamples=*/20'000);
  ASSERT_TRUE(bounds);
  constexpr double kRounding = 1e-9;  // of sums in another order
  constexpr double kLuck = 0.005;
  const auto below = [&](double bound) {
    const auto found = std::ranges::count_if(ratios, [&](double r) { return r < bound; });
    return static_cast<double>(found) / static_cast<double>(ratios.size());
  };
  EXPECT_LE(below(bounds->low - kRounding), 0.025 + kLuck);
  EXPECT_GE(below(bounds->low + kRounding), 0.025 - kLuck);
  EXPECT_LE(below(bounds->high - kRounding), 0.975 + kLuck);
  EXPECT_GE(below(bounds->high + kRounding), 0.975 - kLuck);
}

/// Two samples of one distribution: the ratio of their means is 1, and about 95 of 100 intervals
/// hold it. Ten values are few for a bootstrap, which is known to be a little narrow then.
TEST(Bootstrap, HoldsTheTruthAboutAsOftenAsItSays) {
  constexpr int kTrials = 400;
  std::mt19937_64 random(20261201);
  std::normal_distribution<double> noise(100, 5);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a(10);
    std::vector<double> b(10);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = noise(random);
      b[i] = noise(random);
    }
    const auto bounds = ratio_bounds(a, b, static_cast<std::uint64_t>(trial), 500);
    held += static_cast<int>(bounds->low <= 1 && bounds->high >= 1);
  }
  EXPECT_GT(held, kTrials * 85 / 100);
  EXPECT_LT(held, kTrials * 99 / 100);
}

TEST(Bootstrap, OfOneSeedIsAlwaysTheSame) {
  const std::vector<double> a{1, 2, 3, 4};
  const std::vector<double> b{2, 3, 5};
  const auto first = ratio_bounds(a, b);
  const auto again = ratio_bounds(a, b);
  EXPECT_EQ(first->low, again->low);
  EXPECT_EQ(first->high, again->high);
  EXPECT_LT(first->low, first->high);
}

TEST(Bootstrap, NeedsRepeatsAndARatio) {
  const std::vector<double> one{2};
  const std::vector<double> two{2, 4};
  const std::vector<double> zero{0, 0};
  EXPECT_FALSE(ratio_bounds(one, one));
  EXPECT_FALSE(ratio_bounds({}, two));
  EXPECT_FALSE(ratio_bounds(zero, two));
  const auto bounds = ratio_bounds(one, two);  // the other side's repeats tell of the noise
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->low, 1);
  EXPECT_EQ(bounds->high, 2);
}

}  // namespace
}  // namespace syncopate::experiments
