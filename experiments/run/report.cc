#include "experiments/run/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/metrics.h"
#include "analysis/percentiles.h"
#include "analysis/races.h"
#include "analysis/timeline_io.h"
#include "analysis/trace.h"
#include "experiments/run/environment.h"
#include "experiments/run/latency.h"
#include "experiments/run/tables.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// {mean, p50, p90, p99}, each divided by `unit`; null when there are no values.
template <class T>
Json to_json(const analysis::Distribution<T>& values, double unit = 1) {
  if (values.count == 0) return nullptr;
  return {{"mean", values.mean / unit},
          {"p50", static_cast<double>(values.p50) / unit},
          {"p90", static_cast<double>(values.p90) / unit},
          {"p99", static_cast<double>(values.p99) / unit}};
}

Json race_count(const RunResult& run) {
  if (run.timeline.detail != runtime::Detail::kAll || !run.error.empty()) return nullptr;
  return analysis::summarize(run.timeline, analysis::find_races(run.timeline)).size();
}

Json batching_metrics(const RunResult& run) {
  std::uint64_t rows = 0;
  std::uint64_t discarded = 0;
  for (const batching::StepRecord& step : run.steps) {
    rows += step.rows;
    discarded += step.discarded;
  }
  std::uint64_t refused = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t preemptions = 0;
  std::vector<double> ttft;
  std::vector<double> tpot;
  for (const RequestRecord& request : run.requests) {
    if (request.reason == batching::FinishReason::kRefused) ++refused;
    if (request.reason == batching::FinishReason::kCancelled) ++cancelled;
    preemptions += request.preemptions;
    if (request.new_tokens() == 0) continue;
    const RequestLatency times = latency(run, request);
    ttft.push_back(times.ttft);
    if (request.new_tokens() > 1) tpot.push_back(times.tpot);
  }
  return {{"requests", run.requests.size()},
          {"requests_refused", refused},
          {"requests_cancelled", cancelled},
          {"preemptions", preemptions},
          {"rows_computed", rows},
          {"rows_discarded", discarded},
          {"slot_bytes", run.slot_bytes},
          {"ttft_ms", to_json(analysis::distribution(std::move(ttft)))},
          {"tpot_ms", to_json(analysis::distribution(std::move(tpot)))},
          {"itl_ms", to_json(analysis::distribution(token_gaps(run)))}};
}

/// Virtual time has no process of its own, and the same run is to give the same bytes.
constexpr std::int64_t kSimulatedProcess = 1000;

analysis::TraceOptions trace_options(const Config& c, const RunResult& run) {
  analysis::TraceOptions options;
  options.process = c.runtime.kind == RuntimeKind::kSim ? kSimulatedProcess : ::getpid();
  options.device = yaml::name_of(c.runtime.kind);
  if (const auto& window = c.output.window) {
    options.window.first = static_cast<std::int32_t>(window->front());
    options.window.last = static_cast<std::int32_t>(window->back());
  }
  if (!run.error.empty()) {  // what was not finished has no times
    options.window.last =
        std::min(options.window.last, static_cast<std::int32_t>(run.steps.size()) - 1);
  }
  return options;
}

}  // namespace

Json metrics(const RunResult& run) {
  const analysis::Metrics measured = analysis::measure(run.timeline);
  const double seconds = static_cast<double>(measured.total_time) / kNanosPerSecond;
  std::uint64_t tokens = 0;
  for (const RequestRecord& request : run.requests) tokens += request.new_tokens();

  Json out;
  out["complete"] = run.error.empty();
  if (!run.error.empty()) out["error"] = run.error;
  out["total_time_s"] = seconds;
  out["steps"] = run.steps.size();
  out["tokens"] = tokens;
  out["tokens_per_s"] = seconds > 0 ? Json(static_cast<double>(tokens) / seconds) : Json(nullptr);
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
  out["tokens_digest"] =
      run.tokens_digest ? Json(fmt::format("{:016x}", *run.tokens_digest)) : Json(nullptr);
  out["races"] = race_count(run);
  if (const auto& activities = run.timeline.activities) {
    out["activities"] = {{"records", activities->records.size()}, {"dropped", activities->dropped}};
  }
  out["batching"] = batching_metrics(run);
  return out;
}

void write_run(RunFolder& folder, const ResolvedConfig& config, const RunResult& run,
               const Json& figures) {
  Config resolved = config.config;
  if (config.profile) {
    folder.write("profile.yaml", to_yaml(*config.profile));
    resolved.runtime.profile = "profile.yaml";
  }
  folder.write("config.yaml", to_yaml(resolved));
  folder.write("environment.json", environment(config).dump(2) + '\n');
  folder.write("metrics.json", figures.dump(2) + '\n');
  folder.write("steps.csv", steps_csv(run));
  folder.write("requests.csv", requests_csv(run));
  if (resolved.output.tokens) folder.write("tokens.json", Json(run.tokens).dump() + '\n');
  if (run.timeline.detail == runtime::Detail::kAll) {
    analysis::write_timeline(run.timeline, folder.folder() / "timeline.json");
  }
  if (resolved.output.trace) {
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
