// Least squares with no negative coefficient: what a duration is made of cannot be less than
// nothing, and terms that cannot be told apart must not cancel each other with huge values.
#pragma once

#include <Eigen/Core>

namespace syncopate::experiments {

/// The x >= 0 that makes |a x - b| least. With several (columns that depend on each other) it is
/// one of them, with the fewest columns in use that the search finds.
///
/// The active-set method of Lawson and Hanson ("Solving Least Squares Problems", 1974, chapter 23):
/// a column is freed while the residual falls along it; columns that the free solution would make
/// negative are bound again. Ends after finitely many rounds; columns are scaled to unit length
/// first, so that its one tolerance is relative.
///
/// Throws runtime::UsageError when the sizes differ or a number is not finite.
Eigen::VectorXd nnls(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace syncopate::experiments
