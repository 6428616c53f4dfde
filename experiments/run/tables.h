// A run's steps and requests as CSV, of the batching program.
#pragma once

#include <string>

#include "backend/runtime/timeline.h"
#include "experiments/run/batching_result.h"

namespace syncopate::experiments {

/// steps.csv: one line a step. device_start and device_end span the step's work on the device,
/// copies included; empty where the runtime did not see them.
std::string steps_csv(const BatchingResult& run, const runtime::Timeline& timeline);

/// requests.csv: one line a request. Times are empty for a request without tokens.
std::string requests_csv(const BatchingResult& run);

}  // namespace syncopate::experiments
