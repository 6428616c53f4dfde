#include "experiments/sweep/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "analysis/percentiles.h"

namespace syncopate::experiments {

std::optional<Bounds> ratio_bounds(std::span<const double> a, std::span<const double> b,
                                   std::uint64_t seed, int resamples) {
  if (a.empty() || b.empty() || (a.size() < 2 && b.size() < 2)) return {};
  std::mt19937_64 random(seed);  // its numbers are the standard's; a distribution's are not
  const auto drawn_mean = [&random](std::span<const double> values) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random() % values.size()];
    return sum / static_cast<double>(values.size());
  };
  std::vector<double> ratios;
  for (int i = 0; i < resamples; ++i) {
    const double below = drawn_mean(a);
    ratios.push_back(drawn_mean(b) / below);
    if (!std::isfinite(ratios.back())) return {};
  }
  std::ranges::sort(ratios);
  const std::span<const double> sorted(ratios);
  return Bounds{analysis::percentile(sorted, 2.5), analysis::percentile(sorted, 97.5)};
}

}  // namespace syncopate::experiments
