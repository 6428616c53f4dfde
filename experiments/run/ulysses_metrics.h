// The figures of the Ulysses program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/run/ulysses_result.h"

namespace syncopate::experiments {

/// What no other program has: `ulysses` of metrics.json.
nlohmann::ordered_json ulysses_metrics(const UlyssesResult& run);

/// samples.csv: one line for each rank of each step that counts. `variant` is also a part's name;
/// `step` is the one that the timeline gives it.
std::string samples_csv(const UlyssesResult& run);

}  // namespace syncopate::experiments
