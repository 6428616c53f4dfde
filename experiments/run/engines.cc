#include "experiments/run/engines.h"

#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/error.h"
#include "sim/sim_engine.h"

#if SYNCOPATE_HAS_CUDA
#include "backend/cuda/engine.h"
#endif

namespace syncopate::experiments {

std::unique_ptr<runtime::Engine> make_engine(const ResolvedConfig& config) {
  const RuntimeConfig& c = config.config.runtime;
  switch (c.kind) {
    case RuntimeKind::kSim: {
      const sim::SimOptions options{.effects = c.effects, .seed = c.seed, .chaos = c.chaos};
      return sim::make_sim_engine(config.profile.value().profile, options, 1);
    }
    case RuntimeKind::kCpu:
      return cpu::make_cpu_engine({}, 1);
    case RuntimeKind::kCuda:
      break;
  }
  if (const std::string missing = what_is_missing(c.kind); !missing.empty()) {
    throw runtime::UnavailableError("runtime cuda is not available: " + missing);
  }
#if SYNCOPATE_HAS_CUDA
  cuda::CudaOptions options;
  if (config.config.output.kernels) {
    cuda::ActivityOptions& activities = options.activities.emplace();
    if (const auto& window = config.config.output.window) {
      activities.first_step = static_cast<std::int32_t>(window->front());
      activities.last_step = static_cast<std::int32_t>(window->back());
    }
  }
  return cuda::make_cuda_engine(options);
#else
  return nullptr;
#endif
}

std::string what_is_missing([[maybe_unused]] RuntimeKind kind) {
#if SYNCOPATE_HAS_CUDA
  return kind == RuntimeKind::kCuda && cuda::visible_devices() == 0 ? "no CUDA device" : "";
#else
  return kind == RuntimeKind::kCuda ? "built without CUDA" : "";
#endif
}

std::string what_is_missing_for_kernels() {
#if SYNCOPATE_HAS_CUDA
  return cuda::activities_missing();
#else
  return "built without CUDA";
#endif
}

}  // namespace syncopate::experiments
