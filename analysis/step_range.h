// Some steps of a run.
#pragma once

#include <cstdint>
#include <limits>

namespace syncopate::analysis {

/// Steps `first` to `last`, both included.
struct StepRange {
  std::int32_t first = 0;
  std::int32_t last = 0;

  bool contains(std::int32_t step) const { return first <= step && step <= last; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// All that there is, also what belongs to no step.
inline constexpr StepRange kAllSteps{std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max()};

}  // namespace syncopate::analysis
