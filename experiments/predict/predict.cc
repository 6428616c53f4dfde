#include "experiments/predict/predict.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "backend/runtime/error.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"

namespace syncopate::experiments {
namespace {

constexpr std::uint32_t kSteps = 4096;
constexpr double kMostMs = 10'000;
constexpr double kUsPerMs = 1e3;

void check(const StepHalves& halves) {
  const auto check_time = [](const char* name, double ms) {
    if (std::isfinite(ms) && ms >= 0 && ms <= kMostMs) return;
    throw runtime::UsageError(std::string(name) + " is no time from 0 to 10 s");
  };
  check_time("the host's work", halves.host_ms);
  check_time("the device's work", halves.device_ms);
  check_time("the launches' time", halves.launch_ms);
  if (halves.host_ms + halves.device_ms <= 0) throw runtime::UsageError("a step takes no time");
  if (halves.launch_ms > halves.host_ms) {
    throw runtime::UsageError(
        "launches are part of the host's work, and take longer than all of it");
  }
  if (!(halves.jitter >= 0 && halves.jitter <= 0.99)) {
    throw runtime::UsageError("jitter is a share from 0 to 0.99");
  }
}

sim::HardwareProfile machine(const StepHalves& halves, bool graphs) {
  sim::HardwareProfile profile;
  profile.name = "two halves";
  profile.kernel(runtime::Work::kForward).base_us = halves.device_ms * kUsPerMs;
  profile.span(runtime::Work::kPrepare).base_us =
      (halves.host_ms - (graphs ? halves.launch_ms : 0)) * kUsPerMs;
  profile.jitter = halves.jitter;
  return profile;
}

/// One request: what a step costs here does not depend on how many there are.
ResolvedConfig configuration(const StepHalves& halves, const Prediction& wanted) {
  GeneratedRequests one;
  one.count = 1;
  one.prompt_tokens = Lengths(1);
  one.max_new_tokens = Lengths(kSteps);
  BatchingConfig c;
  c.runtime.effects = false;
  c.runtime.profile = "two halves";
  c.strategy.kind = wanted.async ? StrategyKind::kAsync : StrategyKind::kOrdered;
  c.strategy.slots = wanted.slots;
  c.strategy.graphs = wanted.graphs;
  c.requests = one;
  c.limits.rows = 1;
  c.limits.tokens = 1;
  c.limits.pages = kSteps / c.limits.page_tokens + 1;
  c.output.log = false;
  ResolvedConfig resolved;
  resolved.config = c;
  resolved.profile.emplace().profile = machine(halves, wanted.graphs);
  return resolved;
}

}  // namespace

std::vector<Prediction> predict_strategies(const StepHalves& halves) {
  check(halves);
  std::vector<Prediction> out;
  for (const bool graphs : {false, true}) {
    if (graphs && halves.launch_ms == 0) break;
    for (const std::uint32_t slots : {1U, 2U, 3U}) {
      Prediction& row = out.emplace_back(Prediction{slots > 1, slots, graphs});
      const auto figures = metrics(run_config(configuration(halves, row)));
      row.step_ms = figures["step_time_ms"]["mean"];
      row.device_active_pct = figures["device_active_pct"];
    }
  }
  return out;
}

}  // namespace syncopate::experiments
