// Whether a configuration can run here.
#pragma once

#include "experiments/config/load.h"

namespace syncopate::experiments {

/// Throws ConfigError, at the key that asks for it, when this build or machine lacks the runtime or
/// the model, or the checkpoint's folder is not there. Loads nothing.
void check_available(const ResolvedConfig& config);

}  // namespace syncopate::experiments
