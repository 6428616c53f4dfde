// What a run's figures depend on beside its configuration.
#pragma once

#include <nlohmann/json.hpp>

#include "experiments/config/config.h"

namespace syncopate::experiments {

/// environment.json: program version and git revision, compiler, libraries, the machine's processor
/// (and GPU, with runtime cuda), seeds, and the time at which it was called.
nlohmann::ordered_json environment(const Config& config);

}  // namespace syncopate::experiments
