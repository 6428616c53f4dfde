// What is calibrated: a runtime, reached through the seam alone.
#pragma once

#include <functional>
#include <memory>

#include "backend/runtime/engine.h"

namespace syncopate::experiments {

/// Makes an engine of one device; a new one for each run.
using EngineFactory = std::function<std::unique_ptr<runtime::Engine>()>;

/// Called now and then while measuring: what is done, and the share of it that is.
using OnCalibration = std::function<void(const char* what, double share)>;

}  // namespace syncopate::experiments
