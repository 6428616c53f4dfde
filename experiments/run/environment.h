// What a run's figures depend on beside its configuration.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/config/load.h"

namespace syncopate::experiments {

/// environment.json: program version and git revision, compiler, libraries, the machine's processor
/// (and GPU, with runtime cuda), the hardware profile's name and what it says of itself (null
/// without one), seeds, and the time at which it was called.
nlohmann::ordered_json environment(const ResolvedConfig& resolved);

/// The part of it that no configuration changes: program, build, machine, and the time.
nlohmann::ordered_json build_and_machine();

}  // namespace syncopate::experiments
