// Calibration: from a machine to its hardware profile.
#pragma once

#include <string>
#include <vector>

#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "experiments/calibrate/machine.h"
#include "experiments/config/profile_file.h"

namespace syncopate::experiments {

/// What was measured, all that a profile's file says but who wrote it.
struct Calibration {
  sim::HardwareProfile profile;
  ProfileRanges ranges;
  ProfileFits fits;
  std::vector<std::string> assumed;  ///< Keys of the profile that were not measured.
};

/// Measures, through the seam alone, what a profile is made of: the runtime by small programs
/// (probes.h), the calls, spans and kernels by steps of the program with `model` (steps.h). The
/// requests to serve have at most `entries` KV entries each. Takes about three quarters of a minute
/// or, with a model whose steps are longer, what 24 runs of some 250 steps take. Throws
/// runtime::Error.
Calibration calibrate(const EngineFactory& make_engine, const models::Model& model,
                      const models::BatchLimits& limits, std::uint64_t entries,
                      const OnCalibration& on_progress);

}  // namespace syncopate::experiments
