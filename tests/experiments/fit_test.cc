#include "experiments/calibrate/fit.h"

#include <gtest/gtest.h>

#include <random>

namespace syncopate::experiments {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  std::vector<double> odd{5, 1, 3};
  std::vector<double> even{8, 1, 3, 2};
  std::vector<double> none;
  EXPECT_EQ(median(odd), 3);
  EXPECT_EQ(median(even), 2.5);
  EXPECT_EQ(median(none), 0);
}

// Steps of 1 to 8 rows: a base, terms a row, a token and 1,000 KV tokens, and one that is not
// there.
constexpr double kTerms[] = {2'600, 60, 200, 1'100, 0};

Observations steps(unsigned seed, double noise, int disturbed_of_100) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> even(0, 1);
  const auto below = [&random](unsigned bound) { return static_cast<int>(random() % bound); };
  Observations out(5);
  for (int i = 0; i < 200; ++i) {
    const double rows = 1 + below(8);
    const double tokens = i % 4 == 0 ? rows + below(100) : rows;
    const double kv = (tokens + rows * below(200)) / 1e3;
    const double pairs = kv + (tokens - rows) * (tokens - rows) / 2e3;
    double duration = kTerms[0] + kTerms[1] * rows + kTerms[2] * tokens + kTerms[3] * kv;
    duration *= 1 + noise * (2 * even(random) - 1);
    if (below(100) < disturbed_of_100) duration *= 2 + even(random);
    out.add({1, rows, tokens, kv, pairs}, duration);
  }
  return out;
}

TEST(FitTerms, GivesBackTheTermsThatDurationsWereMadeOf) {
  const Fit fit = fit_terms(steps(1, 0, 0));
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(fit.terms[i], kTerms[i], 1e-6) << i;
  EXPECT_EQ(fit.quality.samples, 200U);
  EXPECT_EQ(fit.quality.median_error_pct, 0);
  EXPECT_EQ(fit.quality.p95_error_pct, 0);
}

TEST(FitTerms, IsNotMovedByTheFewThatSomethingDisturbed) {
  const Fit fit = fit_terms(steps(2, 0, 15));
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(fit.terms[i] / kTerms[i], 1, 1e-3) << i;
  EXPECT_LT(fit.quality.median_error_pct, 0.1);
  EXPECT_GT(fit.quality.p95_error_pct, 40);  // it says that they are there
}

TEST(FitTerms, IsNearInNoise) {
  const Fit fit = fit_terms(steps(3, 0.1, 5));
  EXPECT_NEAR(fit.terms[0] / kTerms[0], 1, 0.1);
  EXPECT_NEAR(fit.terms[2] / kTerms[2], 1, 0.1);
  EXPECT_NEAR(fit.quality.median_error_pct, 5, 1.5);  // half of +-10 %, evenly spread
}

TEST(FitTerms, OfNothingIsNothing) {
  Observations observations(2);
  observations.add({1, 2}, 0);  // says nothing relative
  EXPECT_EQ(observations.size(), 0U);
  const Fit fit = fit_terms(observations);
  EXPECT_EQ(fit.terms, (std::vector<double>{0, 0}));
  EXPECT_EQ(fit.quality.samples, 0U);
}

}  // namespace
}  // namespace syncopate::experiments
