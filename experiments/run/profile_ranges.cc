#include "experiments/run/profile_ranges.h"

namespace syncopate::experiments {

std::optional<StepsOutside> steps_outside_profile(const ResolvedConfig& config,
                                                  const BatchingResult& result) {
  if (!config.profile || !config.profile->ranges) return {};
  const ProfileRanges& ranges = *config.profile->ranges;
  StepsOutside outside;
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const batching::StepRecord& step = result.steps[i];
    if (step.rows <= ranges.rows && step.tokens <= ranges.tokens &&
        step.kv_tokens <= ranges.kv_tokens) {
      continue;
    }
    if (outside.count++ == 0) outside.first = i;
  }
  if (outside.count == 0) return {};
  return outside;
}

}  // namespace syncopate::experiments
