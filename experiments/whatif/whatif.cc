#include "experiments/whatif/whatif.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/run/report.h"
#include "experiments/run/run.h"

namespace syncopate::experiments {
namespace {

void scale_host(sim::HardwareProfile& profile, double by) {
  sim::HostCallCosts& host = profile.host;
  for (double* term :
       {&host.kernel_launch_us, &host.graph_launch_us, &host.graph_launch_per_node_us,
        &host.copy_us, &host.record_us, &host.wait_us, &host.signal_us, &host.query_us,
        &host.synchronize_us, &host.renew_us, &host.renew_per_mb_us, &host.wake_us}) {
    *term *= by;
  }
  for (sim::SpanCost& span : profile.spans) {
    span.base_us *= by;
    span.per_row_us *= by;
    span.per_changed_row_us *= by;
  }
}

void free_copies(sim::HardwareProfile& profile) {
  constexpr double kNoTime = 1e6;  // GB/s: a megabyte in a nanosecond
  for (sim::CopyCost* copy :
       {&profile.h2d, &profile.d2h, &profile.d2d, &profile.peer, &profile.pageable}) {
    *copy = {0, kNoTime};
  }
}

void scale_kernels(sim::HardwareProfile& profile, double by) {
  for (sim::KernelCost& kernel : profile.kernels) {
    for (double* term :
         {&kernel.base_us, &kernel.per_row_us, &kernel.per_token_us, &kernel.per_kv_ktoken_us,
          &kernel.per_attention_kpair_us, &kernel.per_mb_us, &kernel.after_pause_us}) {
      *term *= by;
    }
    if (!kernel.waves) continue;
    for (sim::WaveCost::Point& point : kernel.waves->per_wave) point.us *= by;
  }
}

struct Trial {
  const char* what;
  std::function<void(BatchingConfig& config, sim::HardwareProfile& profile)> change;
};

std::vector<Trial> trials(const BatchingConfig& config) {
  const auto host = [](double by) {
    return [by](BatchingConfig& c, sim::HardwareProfile& profile) {
      scale_host(profile, by);
      c.host.extra_us *= by;
    };
  };
  std::vector<Trial> out = {
      {"nothing", [](BatchingConfig&, sim::HardwareProfile&) {}},
      {"host 2x faster", host(0.5)},
      {"host 2x slower", host(2)},
      {"copies free", [](BatchingConfig&, sim::HardwareProfile& profile) { free_copies(profile); }},
      {"kernels 2x faster",
       [](BatchingConfig&, sim::HardwareProfile& profile) { scale_kernels(profile, 0.5); }}};
  if (config.strategy.kind == StrategyKind::kAsync) {
    out.push_back({"one more slot", [](BatchingConfig& c, sim::HardwareProfile&) {
                     c.strategy.slots = c.strategy.slots.value() + 1;
                   }});
  }
  return out;
}

Change run(const Trial& trial, ResolvedConfig config) {
  auto& batching = std::get<BatchingConfig>(config.config);
  trial.change(batching, config.profile.value().profile);
  const auto figures = metrics(run_config(config));
  return {trial.what, figures["total_time_s"], figures["step_time_ms"]["mean"],
          figures["device_active_pct"]};
}

}  // namespace

std::vector<Change> what_if(const ResolvedConfig& config) {
  const auto* batching = std::get_if<BatchingConfig>(&config.config);
  if (batching == nullptr) {
    throw NoWhatIfError("what-if is for the batching program: of ulysses strategy auto tries all");
  }
  if (batching->runtime.kind != RuntimeKind::kSim) {
    throw NoWhatIfError("what-if runs in virtual time: runtime.kind must be sim");
  }
  std::vector<Change> out;
  for (const Trial& trial : trials(*batching)) out.push_back(run(trial, config));
  return out;
}

}  // namespace syncopate::experiments
