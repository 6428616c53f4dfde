#include "experiments/run/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "backend/runtime/error.h"
#include "experiments/run/revision.h"

#if SYNCOPATE_HAS_CUDA
#include "backend/cuda/device.h"
#endif

namespace syncopate::experiments {
namespace {

using Json = nlohmann::ordered_json;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

#if SYNCOPATE_HAS_CUDA
// A device that has failed does not answer any more.
Json gpu() try {
  const cuda::DeviceDescription device = cuda::describe_device(0);
  return {{"name", device.name},
          {"memory_bytes", device.memory_bytes},
          {"multiprocessors", device.multiprocessors},
          {"driver_cuda", device.driver_cuda},
          {"runtime_cuda", device.runtime_cuda}};
} catch (const runtime::Error& error) {
  return {{"error", error.what()}};
}
#else
Json gpu() { return nullptr; }
#endif

void add_seeds(Json& seeds, const BatchingConfig& config) {
  if (const auto* drawn = std::get_if<GeneratedRequests>(&config.requests)) {
    seeds["requests"] = drawn->seed;
  }
  if (const auto* hash = std::get_if<HashModelConfig>(&config.model)) seeds["model"] = hash->seed;
  if (const auto* llama = std::get_if<LlamaModelConfig>(&config.model)) {
    seeds["model"] = llama->seed;
  }
}

void add_seeds(Json& seeds, const UlyssesConfig& config) {
  seeds["inputs"] = config.benchmark.seed;
}

}  // namespace

Json build_and_machine() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  Json out{{"program", "syncopate " SYNCOPATE_VERSION},
           {"revision", revision()},
           {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
           {"compiler",
#if defined(__clang__)
            "clang " __clang_version__
#else
            "gcc " __VERSION__
#endif
           }};
#if SYNCOPATE_HAS_TORCH
  out["libtorch"] = SYNCOPATE_TORCH_VERSION;
#else
  out["libtorch"] = nullptr;
#endif
  static const std::string kProcessor = processor();  // read once: a sweep asks a thousand times
  out["system"] = system_name();
  out["processor"] = kProcessor;
  out["processor_threads"] = std::thread::hardware_concurrency();
  return out;
}

Json environment(const ResolvedConfig& resolved) {
  const RuntimeConfig& runtime = runtime_of(resolved.config);
  Json seeds{{"runtime", runtime.seed}};
  std::visit([&seeds](const auto& config) { add_seeds(seeds, config); }, resolved.config);
  Json out = build_and_machine();
  out["runtime"] = yaml::name_of(runtime.kind);
  out["gpu"] = runtime.kind == RuntimeKind::kCuda ? gpu() : Json(nullptr);
  out["profile"] = nullptr;
  if (resolved.profile) {
    out["profile"] = {{"name", resolved.profile->profile.name}, {"about", resolved.profile->about}};
  }
  out["seeds"] = std::move(seeds);
  return out;
}

}  // namespace syncopate::experiments
