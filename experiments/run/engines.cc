#include "experiments/run/engines.h"

#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/error.h"
#include "sim/sim_engine.h"

#if SYNCOPATE_HAS_CUDA
#include "backend/cuda/engine.h"
#endif

namespace syncopate::experiments {
namespace {

int devices_of(const Config& config) {
  const auto* ulysses = std::get_if<UlyssesConfig>(&config);
  return ulysses != nullptr ? static_cast<int>(ulysses->shape.world) : 1;
}

#if SYNCOPATE_HAS_CUDA
/// GPUs to spread them over; 0: one each.
int gpus_of(const Config& config) {
  const auto* ulysses = std::get_if<UlyssesConfig>(&config);
  return ulysses != nullptr ? static_cast<int>(ulysses->runtime.devices.value_or(0)) : 0;
}
#endif

}  // namespace

std::unique_ptr<runtime::Engine> make_engine(const ResolvedConfig& config) {
  const RuntimeConfig& c = runtime_of(config.config);
  const int devices = devices_of(config.config);
  switch (c.kind) {
    case RuntimeKind::kSim: {
      const sim::SimOptions options{.effects = c.effects, .seed = c.seed, .chaos = c.chaos};
      return sim::make_sim_engine(config.profile.value().profile, options, devices);
    }
    case RuntimeKind::kCpu:
      return cpu::make_cpu_engine({}, devices);
    case RuntimeKind::kCuda:
      break;
  }
  if (const std::string missing = what_is_missing(c.kind); !missing.empty()) {
    throw runtime::UnavailableError("runtime cuda is not available: " + missing);
  }
#if SYNCOPATE_HAS_CUDA
  cuda::CudaOptions options;
  options.devices = devices;
  options.gpus = gpus_of(config.config);
  if (output_of(config.config).kernels) {
    cuda::ActivityOptions& activities = options.activities.emplace();
    if (const auto& window = output_of(config.config).window) {
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
