// Fits of durations as sums of named terms.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "experiments/config/provenance.h"

namespace syncopate::experiments {

/// The median; of an even number of values the mean of the middle two. `values` is reordered. 0 of
/// none.
double median(std::vector<double>& values);

/// Observations of one kind of duration: for each, how much there was of every term.
class Observations {
 public:
  explicit Observations(std::size_t terms) : terms_(terms) {}
  /// `amounts` has one entry a term. A duration that is not positive says nothing relative: it is
  /// left out.
  void add(std::initializer_list<double> amounts, double duration);

  std::size_t size() const { return durations_.size(); }
  std::size_t terms() const { return terms_; }
  std::span<const double> amounts() const { return amounts_; }  ///< [observation][term]
  std::span<const double> durations() const { return durations_; }

 private:
  std::size_t terms_;
  std::vector<double> amounts_;
  std::vector<double> durations_;
};

struct Fit {
  std::vector<double> terms;  ///< Per unit of each amount, in the unit of the durations; >= 0.
  double error = 0;           ///< The sum that was made least.
  FitQuality quality;
};

/// The terms >= 0 with the least sum of absolute relative errors: every duration counts the same,
/// long or short, and a few that something disturbed count for little. Found by least squares with
/// weights that are adapted a few times (iteratively reweighted least squares).
Fit fit_terms(const Observations& observations);

}  // namespace syncopate::experiments
