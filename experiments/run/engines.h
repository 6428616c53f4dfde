// Runtimes by name: the one place where a configuration's word becomes an engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/runtime/engine.h"
#include "experiments/config/load.h"

namespace syncopate::experiments {

/// An engine of one device, or of one for each rank. Throws runtime::UnavailableError where this
/// build or machine lacks it.
std::unique_ptr<runtime::Engine> make_engine(const ResolvedConfig& config);

/// GPUs that a configuration needs with runtime cuda.
int gpus_for(const Config& config);

/// Whether a runtime can be used here and now, with cuda on `gpus` GPUs: empty, or what is missing.
std::string what_is_missing(RuntimeKind kind, int gpus = 1);

/// Whether this build can record kernels: empty, or what is missing.
std::string what_is_missing_for_kernels();

}  // namespace syncopate::experiments
