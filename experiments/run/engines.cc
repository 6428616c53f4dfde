#include "experiments/run/engines.h"

#include <fmt/format.h>

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
  if (const std::string missing = what_is_missing(c.kind, gpus_for(config.config));
      !missing.empty()) {
    throw runtime::UnavailableError("runtime cuda is not available: " + missing);
  }
#if SYNCOPATE_HAS_CUDA
  cuda::CudaOptions options;
  options.devices = devices;
  options.gpus = gpus_for(config.config);
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

int gpus_for(const Config& config) {
  const auto* ulysses = std::get_if<UlyssesConfig>(&config);
  if (ulysses == nullptr) return 1;
  return static_cast<int>(ulysses->runtime.devices.value_or(ulysses->shape.world));
}

std::string what_is_missing([[maybe_unused]] RuntimeKind kind, [[maybe_unused]] int gpus) {
#if SYNCOPATE_HAS_CUDA
  if (kind != RuntimeKind::kCuda) return "";
  const int there = cuda::visible_devices();
  if (there == 0) return "no CUDA device";
  return there < gpus ? fmt::format("{} GPUs are needed, and there are {}", gpus, there) : "";
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
