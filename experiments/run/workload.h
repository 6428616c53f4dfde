// The requests of a run, from their description.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/batching/request.h"
#include "experiments/config/batching_config.h"

namespace syncopate::experiments {

/// Prompts and lengths are drawn from the seed, the same on every machine; with a trace prompts
/// alone. `vocab` is the model's. Throws yaml::ConfigError for a trace that cannot be read (any
/// more).
std::vector<batching::Request> make_requests(const RequestsConfig& config, std::uint32_t vocab);

}  // namespace syncopate::experiments
