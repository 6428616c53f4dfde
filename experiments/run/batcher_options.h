// What a configuration says to the batcher.
#pragma once

#include "backend/batching/batcher.h"
#include "backend/models/batch_layout.h"
#include "experiments/config/batching_config.h"

namespace syncopate::experiments {

/// Without pages_per_row, which follows from the requests (batching::with_width).
models::BatchLimits batch_limits(const LimitsConfig& limits);

/// Without callbacks. `config` is resolved: its slots are set.
batching::BatcherOptions batcher_options(const BatchingConfig& config);

}  // namespace syncopate::experiments
