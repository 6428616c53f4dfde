// What a configuration says to the benchmark.
#pragma once

#include "backend/ulysses/benchmark/benchmark.h"
#include "experiments/config/ulysses_config.h"

namespace syncopate::experiments {

/// Without a schedule.
ulysses::LayoutOptions layout_options(const UlyssesShapeConfig& shape);

/// Without callbacks. `config` is resolved.
ulysses::BenchmarkOptions benchmark_options(const UlyssesConfig& config);

}  // namespace syncopate::experiments
