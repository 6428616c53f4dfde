#include "experiments/config/rules.h"

#include <fmt/format.h>

#include <variant>

#include "experiments/config/check.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments {

void check(const Config& config, const yaml::Origins& origins) {
  std::visit([&origins](const auto& c) { check(c, origins); }, config);
}

void Rules::fail(std::string_view path, std::string_view message) const {
  throw yaml::ConfigError(origins_.find(path), fmt::format("{}: {}", path, message));
}

void Rules::check_runtime(const RuntimeConfig& c) const {
  const bool sim = c.kind == RuntimeKind::kSim;
  const std::string_view kind = yaml::name_of(c.kind);
  if (sim && !c.profile) {
    fail("runtime.profile", "sim needs a hardware profile: a name in configs/hardware or a path");
  }
  if (!sim && c.profile) {
    fail("runtime.profile",
         fmt::format("only sim has a hardware profile; {} measures: remove it", kind));
  }
  if (!sim && !c.effects) {
    fail("runtime.effects", fmt::format("off is for sim only: {} always computes", kind));
  }
  if (!sim && c.chaos) fail("runtime.chaos", fmt::format("is for sim only, not {}", kind));
}

void Rules::check_output(const OutputConfig& c, const RuntimeConfig& runtime) const {
  if (c.trace && !c.log) {
    fail("output.trace", "a trace is made from the log: set output.log: true");
  }
  if (c.kernels && runtime.kind != RuntimeKind::kCuda) {
    fail("output.kernels",
         fmt::format("is for cuda only, not {}: remove it", yaml::name_of(runtime.kind)));
  }
  if (c.kernels && !c.trace) {
    fail("output.kernels", "kernels go into the trace: set output.trace: true");
  }
  if (c.window && !c.trace) {
    fail("output.window", "limits the trace, and none is written: set output.trace: true");
  }
  if (c.window && c.window->front() > c.window->back()) {
    fail("output.window", fmt::format("the first step, {}, is after the last, {}",
                                      c.window->front(), c.window->back()));
  }
}

}  // namespace syncopate::experiments
