#include "experiments/calibrate/nnls.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <limits>
#include <random>

#include "backend/runtime/error.h"

namespace syncopate::experiments {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(Nnls, IsLeastSquaresWhereThatIsPositive) {
  // The line through (0, 1), (1, 3), (2, 5): 1 + 2 x.
  const MatrixXd a{{1, 0}, {1, 1}, {1, 2}};
  const VectorXd b{{1, 3, 5}};
  EXPECT_TRUE(nnls(a, b).isApprox(VectorXd{{1, 2}}, 1e-12));
}

TEST(Nnls, BindsWhatWouldBeNegative) {
  // Through (0, 4), (1, 2), (2, 0) the line falls: without a slope the best is the mean, 2.
  const MatrixXd a{{1, 0}, {1, 1}, {1, 2}};
  const VectorXd b{{4, 2, 0}};
  const VectorXd x = nnls(a, b);
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_EQ(x[1], 0);
}

TEST(Nnls, LetsGoOfAColumnThatItTookFirst) {
  // Alone, the third column fits best; with the others it would be negative: (1, 1) = 1 e1 + 1 e2.
  const MatrixXd a{{1, 0, 1}, {0, 1, 0.9}, {0, 0, 0.1}};
  const VectorXd b{{1, 1, -0.1}};
  EXPECT_TRUE(nnls(a, b).isApprox(VectorXd{{1, 1, 0}}, 1e-12));
}

TEST(Nnls, IsZeroWhereEveryColumnPointsAway) {
  EXPECT_TRUE(nnls(MatrixXd{{1, 2}, {3, 4}}, VectorXd{{-1, -1}}).isZero(0));
}

TEST(Nnls, DoesNotMindColumnsOfVeryDifferentSize) {
  const MatrixXd a{{1e-9, 1e6}, {2e-9, 5e6}, {3e-9, 2e6}};
  const VectorXd x{{4e9, 3e-6}};
  EXPECT_TRUE(nnls(a, a * x).cwiseQuotient(x).isApprox(VectorXd::Ones(2), 1e-9));
}

TEST(Nnls, OfColumnsThatAreTheSameItUsesOne) {
  const MatrixXd a{{1, 1}, {2, 2}};
  const VectorXd x = nnls(a, VectorXd{{3, 6}});
  EXPECT_NEAR(x.sum(), 3, 1e-12);
  EXPECT_EQ(x.minCoeff(), 0);
}

TEST(Nnls, RefusesWhatIsNoProblem) {
  EXPECT_THROW(nnls(MatrixXd::Ones(3, 1), VectorXd::Ones(2)), runtime::UsageError);
  EXPECT_THROW(
      nnls(MatrixXd::Ones(1, 1), VectorXd::Constant(1, std::numeric_limits<double>::quiet_NaN())),
      runtime::UsageError);
}

/// The least residual of all sets of columns whose least-squares solution has no negative part.
double brute_force(const MatrixXd& a, const VectorXd& b) {
  double best = b.norm();
  for (unsigned set = 1; set < 1u << a.cols(); ++set) {
    std::vector<Index> columns;
    for (Index i = 0; i < a.cols(); ++i) {
      if ((set >> i & 1) != 0) columns.push_back(i);
    }
    const MatrixXd chosen = a(Eigen::all, columns);
    const VectorXd x = chosen.colPivHouseholderQr().solve(b);
    if (x.minCoeff() >= 0) best = std::min(best, (chosen * x - b).norm());
  }
  return best;
}

TEST(Nnls, IsAsGoodAsTheBestOfAllSetsOfColumns) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const Index columns = 1 + static_cast<Index>(random() % 6);
    const Index rows = columns + static_cast<Index>(random() % 10);
    const MatrixXd a = MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
    const VectorXd b = VectorXd::NullaryExpr(rows, [&] { return normal(random); });
    const VectorXd x = nnls(a, b);
    EXPECT_GE(x.minCoeff(), 0);
    EXPECT_NEAR((a * x - b).norm(), brute_force(a, b), 1e-9);
  }
}

}  // namespace
}  // namespace syncopate::experiments
