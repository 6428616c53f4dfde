// What one key cannot say alone: rules over several values of a configuration.
#pragma once

#include "experiments/config/config.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments {

// Throw ConfigError at the value to change.
void check(const Config& config, const yaml::Origins& origins);
void check(const BatchingConfig& config, const yaml::Origins& origins);
void check(const UlyssesConfig& config, const yaml::Origins& origins);

}  // namespace syncopate::experiments
