// What a benchmark's samples come to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backend/runtime/handles.h"
#include "experiments/run/ulysses_result.h"

namespace syncopate::experiments {

/// Milliseconds of the iterations that count, each the slowest rank's.
struct Spread {
  std::size_t count = 0;
  double median = 0;  ///< Between the middle two where their number is even.
  double p90 = 0;     ///< By nearest rank.
  double min = 0;
  double max = 0;
};

/// None where there are no values.
std::optional<Spread> spread(std::vector<runtime::Nanos> values);

/// Of one entrant.
struct EntrantFigures {
  std::optional<Spread> time;
  std::optional<Spread> enqueue;  ///< The host's time to enqueue it.
};

/// By entrant.
std::vector<EntrantFigures> entrant_figures(const UlyssesResult& run);

/// What a variant's median means beside the others'. None where one of them was not measured.
struct VariantFigures {
  std::optional<double> over_ordinary;  ///< How many times as fast as the best `ordinary` …
  std::optional<double> over_fused;     ///< … and as the best `whole_fused`.
  std::optional<double> communication;  ///< ms: its bands' scatters and gathers alone.
  std::optional<double> exposed;        ///< ms: the pass less its bands' attention alone.
  std::optional<double> hidden_pct;     ///< Of the communication.
  /// ms: the longest of input, attention and output, with the first band's scatter before it and
  /// the last one's gather behind it; of a single band all three one after the other.
  std::optional<double> limit;
};

/// By variant. `entrants` are entrant_figures().
std::vector<VariantFigures> variant_figures(const UlyssesResult& run,
                                            const std::vector<EntrantFigures>& entrants);

}  // namespace syncopate::experiments
