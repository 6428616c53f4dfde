// A pass in virtual time, for its times alone.
#pragma once

#include <vector>

#include "backend/runtime/handles.h"
#include "backend/ulysses/benchmark/benchmark.h"
#include "experiments/search/candidates.h"
#include "sim/profile.h"

namespace syncopate::experiments {

/// Of a variant's pass, in nanoseconds at the rank where it takes longest.
struct PassFigures {
  runtime::Nanos time = 0;
  runtime::Nanos enqueue = 0;         ///< The host's, to enqueue it.
  runtime::Nanos exposed_input = 0;   ///< In which attention waits: before it, between its bands …
  runtime::Nanos exposed_output = 0;  ///< … and from its end to the pass's.
  std::vector<runtime::Nanos> attention;  ///< By band.
};

/// The second pass of a run of nothing else on a machine of `profile` (with graphs the third, which
/// is the first launch), timed as the benchmark does: the ranks meet before it. Nothing is
/// computed, and the profile's jitter is left out. Of `variant` the name does not count. Throws
/// what the benchmark does.
runtime::Nanos pass_time(const SearchSpace& space, const ulysses::BenchmarkVariant& variant,
                         const sim::HardwareProfile& profile);
/// The same with all that is known of the pass; slower.
PassFigures pass_figures(const SearchSpace& space, const ulysses::BenchmarkVariant& variant,
                         const sim::HardwareProfile& profile);

}  // namespace syncopate::experiments
