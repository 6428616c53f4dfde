// Mean and percentiles of a set of measurements: step times, TTFT, TPOT, ITL.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace syncopate::analysis {

/// The p-th percentile (0 < p <= 100) of values sorted in ascending order, by nearest rank: the
/// ceil(p/100 * n)-th smallest. Always one of the values, never an interpolation. 0 if there is
/// none.
template <class T>
T percentile(std::span<const T> sorted, double p) {
  if (sorted.empty()) return T{};
  // p * n / 100, not p / 100 * n: 0.07 * 100 is a hair above 7 and would round to rank 8.
  const double rank = std::ceil(p * static_cast<double>(sorted.size()) / 100.0);
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

template <class T>
struct Distribution {
  std::size_t count = 0;
  double mean = 0.0;
  T p50{};
  T p90{};
  T p99{};
  T max{};
};

/// All zero where there are no values.
template <class T>
Distribution<T> distribution(std::vector<T> values) {
  Distribution<T> result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  const std::span<const T> sorted(values);
  result.count = values.size();
  double sum = 0.0;
  for (const T value : values) sum += static_cast<double>(value);
  result.mean = sum / static_cast<double>(values.size());
  result.p50 = percentile(sorted, 50);
  result.p90 = percentile(sorted, 90);
  result.p99 = percentile(sorted, 99);
  result.max = sorted.back();
  return result;
}

}  // namespace syncopate::analysis
