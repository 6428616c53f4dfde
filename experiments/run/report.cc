#include "experiments/run/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "analysis/metrics.h"
#include "analysis/races.h"
#include "analysis/timeline_io.h"
#include "analysis/trace.h"
#include "experiments/run/batching_metrics.h"
#include "experiments/run/environment.h"
#include "experiments/run/json.h"
#include "experiments/run/tables.h"
#include "experiments/run/ulysses_metrics.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using Json = nlohmann::ordered_json;

Json race_count(const RunResult& run) {
  if (run.timeline.detail != runtime::Detail::kAll || !run.error.empty()) return nullptr;
  return analysis::summarize(run.timeline, analysis::find_races(run.timeline)).size();
}

/// Virtual time has no process of its own, and the same run is to give the same bytes.
constexpr std::int64_t kSimulatedProcess = 1000;

analysis::TraceOptions trace_options(const Config& config, const RunResult& run) {
  analysis::TraceOptions options;
  const RuntimeKind kind = runtime_of(config).kind;
  options.process = kind == RuntimeKind::kSim ? kSimulatedProcess : ::getpid();
  options.device = yaml::name_of(kind);
  if (const auto& window = output_of(config).window) {
    options.window.first = static_cast<std::int32_t>(window->front());
    options.window.last = static_cast<std::int32_t>(window->back());
  }
  if (!run.error.empty()) {  // what was not finished has no times
    options.window.last = std::min(options.window.last, static_cast<std::int32_t>(run.steps()) - 1);
  }
  return options;
}

void write_program(RunFolder& folder, const Config& config, const RunResult& run,
                   const BatchingResult& batching) {
  if (output_of(config).tables) {
    folder.write("steps.csv", steps_csv(batching, run.timeline));
    folder.write("requests.csv", requests_csv(batching));
  }
  if (std::get<BatchingConfig>(config).output.tokens) {
    folder.write("tokens.json", Json(batching.tokens).dump() + '\n');
  }
}

void write_program(RunFolder& folder, const Config& config, const RunResult& /*run*/,
                   const UlyssesResult& ulysses) {
  if (output_of(config).tables) folder.write("samples.csv", samples_csv(ulysses));
}

}  // namespace

Json metrics(const RunResult& run) {
  const analysis::Metrics measured = analysis::measure(run.timeline);
  const double seconds = static_cast<double>(measured.total_time) / kNanosPerSecond;
  const auto* batching = std::get_if<BatchingResult>(&run.program);
  Json out;
  out["complete"] = run.error.empty();
  if (!run.error.empty()) out["error"] = run.error;
  out["total_time_s"] = seconds;
  out["steps"] = run.steps();
  if (batching != nullptr) add_tokens(out, *batching, seconds);
  out["device_active_pct"] = measured.device_active_pct();
  out["kernel_active_pct"] = measured.kernel_active_pct();
  out["host_busy_pct"] = measured.host_busy_pct();
  out["idle_ms_by_cause"] = {{"host", milliseconds(measured.idle.host)},
                             {"copy", milliseconds(measured.idle.copy)},
                             {"event", milliseconds(measured.idle.dependency)},
                             {"launch", milliseconds(measured.idle.launch)},
                             {"drain", milliseconds(measured.idle.drain)}};
  out["step_time_ms"] = to_json(measured.step_time, kNanosPerMs);
  out["host_us_per_step"] = to_json(measured.host_time, kNanosPerUs);
  if (batching != nullptr) add_digest(out, *batching);
  out["races"] = race_count(run);
  if (const auto& activities = run.timeline.activities) {
    out["activities"] = {{"records", activities->records.size()}, {"dropped", activities->dropped}};
  }
  if (batching != nullptr) {
    out["batching"] = batching_metrics(*batching, seconds);
  } else {
    out["ulysses"] = ulysses_metrics(run.ulysses());
  }
  return out;
}

void write_run(RunFolder& folder, const ResolvedConfig& config, const RunResult& run,
               const Json& figures) {
  Config resolved = config.config;
  if (config.profile) {
    folder.write("profile.yaml", to_yaml(*config.profile));
    std::visit([](auto& c) { c.runtime.profile = "profile.yaml"; }, resolved);
  }
  folder.write("config.yaml", to_yaml(resolved));
  folder.write("environment.json", environment(config).dump(2) + '\n');
  folder.write("metrics.json", figures.dump(2) + '\n');
  std::visit([&](const auto& result) { write_program(folder, resolved, run, result); },
             run.program);
  if (run.timeline.detail == runtime::Detail::kAll) {
    analysis::write_timeline(run.timeline, folder.folder() / "timeline.json");
  }
  if (output_of(resolved).trace) {
    analysis::write_trace(run.timeline, folder.folder() / "trace.json.gz",
                          trace_options(resolved, run));
  }
}

std::filesystem::path write_incomplete_run(const std::filesystem::path& target,
                                           const ResolvedConfig& config, const RunResult& run) {
  std::filesystem::path path = std::filesystem::absolute(target).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  path += ".incomplete";
  RunFolder folder(path, /*force=*/true);
  write_run(folder, config, run, metrics(run));
  folder.commit();
  return path;
}

}  // namespace syncopate::experiments
