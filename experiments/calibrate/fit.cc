#include "experiments/calibrate/fit.h"

#include <algorithm>
#include <cmath>

#include "experiments/calibrate/nnls.h"

namespace syncopate::experiments {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int kRounds = 20;
// A relative error below this weighs as if it were this: else one exact point would weigh all.
constexpr double kSmallError = 1e-3;

double percent(double share) { return std::round(share * 1e4) / 1e2; }

FitQuality quality_of(const VectorXd& relative_errors) {
  FitQuality quality;
  quality.samples = static_cast<std::uint64_t>(relative_errors.size());
  std::vector<double> errors(relative_errors.size());
  VectorXd::Map(errors.data(), relative_errors.size()) = relative_errors.cwiseAbs();
  if (errors.empty()) return quality;
  quality.median_error_pct = percent(median(errors));
  std::ranges::sort(errors);
  quality.p95_error_pct = percent(errors[(errors.size() - 1) * 95 / 100]);
  return quality;
}

}  // namespace

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void Observations::add(std::initializer_list<double> amounts, double duration) {
  if (!(duration > 0)) return;
  amounts_.insert(amounts_.end(), amounts);
  durations_.push_back(duration);
}

Fit fit_terms(const Observations& observations) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto count = static_cast<Index>(observations.size());
  const auto amounts =
      RowMajor::Map(observations.amounts().data(), count, static_cast<Index>(observations.terms()));
  const auto durations = VectorXd::Map(observations.durations().data(), count);
  // Divided by its duration, each observation should come to 1; what is missing is a relative
  // error.
  const MatrixXd shares = durations.cwiseInverse().asDiagonal() * amounts;
  const VectorXd ones = VectorXd::Ones(count);
  VectorXd terms = nnls(shares, ones);
  for (int round = 0; round < kRounds; ++round) {
    const VectorXd errors = (shares * terms - ones).cwiseAbs();
    const VectorXd weights = errors.cwiseMax(kSmallError).cwiseInverse().cwiseSqrt();
    terms = nnls(weights.asDiagonal() * shares, weights);
  }
  const VectorXd errors = shares * terms - ones;
  return {{terms.begin(), terms.end()}, errors.cwiseAbs().sum(), quality_of(errors)};
}

}  // namespace syncopate::experiments
