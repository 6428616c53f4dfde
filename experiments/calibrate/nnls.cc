#include "experiments/calibrate/nnls.h"

#include <Eigen/QR>
#include <algorithm>
#include <vector>

#include "backend/runtime/error.h"

namespace syncopate::experiments {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// The least-squares solution over the columns in `free`, 0 elsewhere.
VectorXd solve_free(const MatrixXd& a, const VectorXd& b, const std::vector<Index>& free) {
  MatrixXd columns(a.rows(), static_cast<Index>(free.size()));
  for (std::size_t i = 0; i < free.size(); ++i) columns.col(static_cast<Index>(i)) = a.col(free[i]);
  const VectorXd solution = columns.colPivHouseholderQr().solve(b);
  VectorXd x = VectorXd::Zero(a.cols());
  for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] = solution[static_cast<Index>(i)];
  return x;
}

}  // namespace

VectorXd nnls(const MatrixXd& a, const VectorXd& b) {
  if (a.rows() != b.size()) throw runtime::UsageError("nnls: a and b differ in their rows");
  if (!a.allFinite() || !b.allFinite()) throw runtime::UsageError("nnls: a number is not finite");
  VectorXd lengths = a.colwise().norm().transpose();
  for (double& length : lengths) length = length > 0 ? length : 1;
  const MatrixXd unit = a * lengths.cwiseInverse().asDiagonal();

  const double tolerance = 1e-12 * b.norm();
  VectorXd x = VectorXd::Zero(a.cols());
  std::vector<Index> free;
  std::vector<Index> refused;  // bound again as soon as they were freed: rounding
  const auto in = [](const std::vector<Index>& set, Index i) {
    return std::ranges::find(set, i) != set.end();
  };
  // Each round lowers the residual and ends with a set of columns that has not been seen before;
  // the bound is for rounding errors alone.
  for (Index round = 0; round < 10 * a.cols(); ++round) {
    const VectorXd descent = unit.transpose() * (b - unit * x);
    Index best = -1;
    for (Index i = 0; i < a.cols(); ++i) {
      if (in(free, i) || in(refused, i) || descent[i] <= tolerance) continue;
      if (best < 0 || descent[i] > descent[best]) best = i;
    }
    if (best < 0) break;
    free.push_back(best);
    for (;;) {
      const VectorXd wanted = solve_free(unit, b, free);
      // As far towards the wanted solution as no coefficient becomes negative.
      double step = 1;
      for (const Index i : free) {
        if (wanted[i] <= 0) step = std::min(step, x[i] / (x[i] - wanted[i]));
      }
      if (step == 1) {
        x = wanted;
        break;
      }
      x += step * (wanted - x);
      std::erase_if(free, [&](Index i) {
        if (wanted[i] > 0 || x[i] > tolerance) return false;
        x[i] = 0;
        return true;
      });
    }
    if (in(free, best)) {
      refused.clear();
    } else {
      refused.push_back(best);
    }
  }
  return x.cwiseQuotient(lengths);
}

}  // namespace syncopate::experiments
