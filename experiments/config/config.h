// The configuration of a run: that of the program which the key `program` names.
#pragma once

#include <string_view>
#include <variant>

#include "experiments/config/batching_config.h"
#include "experiments/config/ulysses_config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

using Config = std::variant<BatchingConfig, UlyssesConfig>;

// What every program's configuration has.
inline const RuntimeConfig& runtime_of(const Config& config) {
  return std::visit([](const auto& c) -> const RuntimeConfig& { return c.runtime; }, config);
}
inline const OutputConfig& output_of(const Config& config) {
  return std::visit([](const auto& c) -> const OutputConfig& { return c.output; }, config);
}

}  // namespace syncopate::experiments

template <>
inline constexpr std::string_view
    syncopate::experiments::yaml::kTagOf<syncopate::experiments::Config> = "program";
