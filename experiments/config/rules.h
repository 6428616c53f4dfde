// Rules over values that every program's configuration has.
#pragma once

#include <string_view>

#include "experiments/config/output_config.h"
#include "experiments/config/runtime_config.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments {

/// For the rules of one program to build on.
class Rules {
 protected:
  explicit Rules(const yaml::Origins& origins) : origins_(origins) {}

  /// Throws ConfigError at the value of `path`, or where it would stand.
  [[noreturn]] void fail(std::string_view path, std::string_view message) const;
  void check_runtime(const RuntimeConfig& c) const;
  void check_output(const OutputConfig& c, const RuntimeConfig& runtime) const;

 private:
  const yaml::Origins& origins_;
};

}  // namespace syncopate::experiments
