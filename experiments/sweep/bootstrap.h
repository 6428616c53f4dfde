// How far a ratio of means may be off, told from repeats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace syncopate::experiments {

struct Bounds {
  double low = 0;
  double high = 0;
};

/// The middle 95 % of mean(b) / mean(a) over `resamples` draws with replacement from each: the
/// bootstrap's percentile interval. None where neither has two values, or the ratio has no meaning.
/// The same values and seed give the same bounds everywhere.
std::optional<Bounds> ratio_bounds(std::span<const double> a, std::span<const double> b,
                                   std::uint64_t seed = 1, int resamples = 2000);

}  // namespace syncopate::experiments
