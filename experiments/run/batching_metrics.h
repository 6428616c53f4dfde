// The figures of the batching program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/run/batching_result.h"

namespace syncopate::experiments {

/// Adds `tokens` and `tokens_per_s` of a run that took `seconds`.
void add_tokens(nlohmann::ordered_json& figures, const BatchingResult& run, double seconds);
/// Adds `tokens_digest`, null where there is none.
void add_digest(nlohmann::ordered_json& figures, const BatchingResult& run);
/// What no other program has: `batching` of metrics.json, of a run that took `seconds`. Its `slo`,
/// where there is one: how many requests that were answered to their end kept it, their share, and
/// how many of these there were a second (goodput).
nlohmann::ordered_json batching_metrics(const BatchingResult& run, double seconds);

}  // namespace syncopate::experiments
