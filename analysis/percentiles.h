// Mean and percentiles of a set of measurements: step times, TTFT, TPOT, ITL.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace syncopate::analysis {

/// Where the p-th percentile (0 < p <= 100) stands among `count` sorted values, of which there is
/// one at least: from 0.
inline std::size_t nearest_rank(double p, std::size_t count) {
  // p * n / 100, not p / 100 * n: 0.07 * 100 is a hair above 7 and would round to rank 8.
  const double rank = std::ceil(p * static_cast<double>(count) / 100.0);
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return std::min(index, count - 1);
}

/// The p-th percentile (0 < p <= 100) of values sorted in ascending order, by nearest rank: the
/// ceil(p/100 * n)-th smallest. Always one of the values, never an interpolation. 0 if there is
/// none.
template <class T>
T percentile(std::span<const T> sorted, double p) {
  return sorted.empty() ? T{} : sorted[nearest_rank(p, sorted.size())];
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
  result.count = values.size();
  double sum = 0.0;
  for (const T value : values) sum += static_cast<double>(value);
  result.mean = sum / static_cast<double>(values.size());
  // Each rank in turn puts what is less before it, and so narrows the search for the next.
  auto sorted_until = values.begin();
  const auto at_rank = [&](double p) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(nearest_rank(p, values.size()));
    std::nth_element(sorted_until, at, values.end());
    sorted_until = at;
    return *at;
  };
  result.p50 = at_rank(50);
  result.p90 = at_rank(90);
  result.p99 = at_rank(99);
  result.max = *std::max_element(sorted_until, values.end());
  return result;
}

/// A value that was measured `count` times.
template <class T>
struct Weighted {
  T value{};
  std::size_t count = 1;
};

/// Of every value as often as it was measured.
template <class T>
Distribution<T> distribution(std::vector<Weighted<T>> values) {
  Distribution<T> result;
  std::erase_if(values, [](const Weighted<T>& value) { return value.count == 0; });
  if (values.empty()) return result;
  std::ranges::sort(values, {}, &Weighted<T>::value);
  double sum = 0.0;
  for (const auto& [value, count] : values) {
    result.count += count;
    sum += static_cast<double>(value) * static_cast<double>(count);
  }
  result.mean = sum / static_cast<double>(result.count);
  const auto at_rank = [&](double p) {
    const std::size_t rank = nearest_rank(p, result.count);
    std::size_t before = 0;
    auto at = values.begin();
    while (before + at->count <= rank) before += (at++)->count;
    return at->value;
  };
  result.p50 = at_rank(50);
  result.p90 = at_rank(90);
  result.p99 = at_rank(99);
  result.max = values.back().value;
  return result;
}

}  // namespace syncopate::analysis
