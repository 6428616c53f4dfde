// The `runtime` section: what spends the time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

enum class RuntimeKind { kSim, kCpu, kCuda };

struct RuntimeConfig {
  RuntimeKind kind = RuntimeKind::kSim;
  std::optional<std::string> profile;  ///< sim only, and needed there.
  bool effects = true;
  std::uint64_t seed = 0;
  bool chaos = false;
};

template <class V>
void describe(V& v, RuntimeConfig& c) {
  using yaml::key, yaml::required;
  v(required("kind", "What spends the time"), c.kind);
  v(key("profile", "Hardware profile of sim: a name in configs/hardware, or a path"), c.profile);
  v(key("effects", "Compute what kernels compute; off (sim only): times alone, much faster"),
    c.effects);
  v(key("seed", "Of jitter and chaos in sim"), c.seed);
  v(key("chaos", "sim only: random durations, which bring hidden races to light"), c.chaos);
}

}  // namespace syncopate::experiments

namespace syncopate::experiments::yaml {

template <>
struct ChoicesOf<RuntimeKind> {
  static constexpr std::array value{
      Choice{RuntimeKind::kSim, "sim", "virtual time, from a hardware profile"},
      Choice{RuntimeKind::kCpu, "cpu", "CPU threads stand in for the device"},
      Choice{RuntimeKind::kCuda, "cuda", "NVIDIA GPUs"},
  };
};

}  // namespace syncopate::experiments::yaml
