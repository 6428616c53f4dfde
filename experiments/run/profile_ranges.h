// Whether a profile was measured with steps as large as those of a run.
#pragma once

#include <cstddef>
#include <optional>

#include "experiments/config/load.h"
#include "experiments/run/batching_result.h"

namespace syncopate::experiments {

/// Steps for which the profile's terms are a guess.
struct StepsOutside {
  std::size_t count = 0;
  std::size_t first = 0;
};

/// None where there is no such step, or the profile says nothing of what it was measured with.
std::optional<StepsOutside> steps_outside_profile(const ResolvedConfig& config,
                                                  const BatchingResult& result);

}  // namespace syncopate::experiments
