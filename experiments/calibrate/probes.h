// Measures the runtime: small programs of calls, graphs and copies.
#pragma once

#include "experiments/calibrate/machine.h"
#include "experiments/config/provenance.h"
#include "sim/profile.h"

namespace syncopate::experiments {

/// Medians, in the profile's units.
struct MeasuredRuntime {
  double signal_us = 0;
  double query_us = 0;
  double synchronize_us = 0;
  double graph_launch_per_node_us = 0;
  double empty_kernel_us = 0;
  sim::GraphTiming graph;
  sim::CopyCost h2d, d2h, d2d, pageable;
  FitQuality h2d_fit, d2h_fit, d2d_fit, pageable_fit;
};

/// About a second on CPU threads.
MeasuredRuntime measure_runtime(const EngineFactory& make_engine, const OnCalibration& on_progress);

}  // namespace syncopate::experiments
