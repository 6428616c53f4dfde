#include "experiments/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "experiments/calibrate/fit.h"
#include "experiments/calibrate/probes.h"
#include "experiments/calibrate/steps.h"

namespace syncopate::experiments {
namespace {

using runtime::Work;

constexpr std::chrono::seconds kStepsBudget{35};

void fit_spans(const MeasuredProgram& program, Calibration& out) {
  Observations prepare(3);
  Observations update(2);
  for (const MeasuredStep& step : program.steps) {
    const auto rows = static_cast<double>(step.record.rows);
    prepare.add({1, rows, static_cast<double>(step.record.changed_rows)}, step.prepare);
    update.add({1, rows}, step.update);
  }
  const Fit of_prepare = fit_terms(prepare);
  const Fit of_update = fit_terms(update);
  out.profile.span(Work::kPrepare) = {of_prepare.terms[0], of_prepare.terms[1],
                                      of_prepare.terms[2]};
  out.profile.span(Work::kUpdate) = {of_update.terms[0], of_update.terms[1], 0};
  out.fits.prepare = of_prepare.quality;
  out.fits.update = of_update.quality;
}

/// The terms of forward, with a pause that adds its share up to `pause_us`.
Fit fit_forward(const MeasuredProgram& program, double pause_us) {
  Observations forward(6);
  for (const MeasuredStep& step : program.steps) {
    const batching::StepRecord& r = step.record;
    forward.add(
        {1, static_cast<double>(r.rows), static_cast<double>(r.tokens),
         static_cast<double>(r.kv_tokens) / 1e3, static_cast<double>(r.attention_pairs) / 1e3,
         std::clamp(step.pause / pause_us, 0.0, 1.0)},
        step.forward);
  }
  return fit_terms(forward);
}

/// The pause that adds all is no linear term: searched for, between pauses that were measured,
/// first on a coarse grid (the error may have several minima), then in smaller and smaller steps.
double find_pause_us(const MeasuredProgram& program) {
  constexpr double kShortestUs = 10;
  double longest = kShortestUs;
  for (const MeasuredStep& step : program.steps) longest = std::max(longest, step.pause);
  double best = longest;
  double least = fit_forward(program, best).error;
  const auto look_at = [&](double pause_us) {
    if (pause_us < kShortestUs || pause_us > longest) return;
    const double error = fit_forward(program, pause_us).error;
    if (error >= least) return;
    least = error;
    best = pause_us;
  };
  double factor = std::sqrt(2.0);
  double pause_us = longest;
  while ((pause_us /= factor) >= kShortestUs) look_at(pause_us);
  while (factor > 1.002) {
    factor = std::sqrt(factor);
    const double center = best;
    look_at(center * factor);
    look_at(center / factor);
  }
  return best;
}

void fit_kernels(const MeasuredProgram& program, Calibration& out) {
  Observations carry(2);
  for (const MeasuredStep& step : program.steps) {
    const batching::StepRecord& r = step.record;
    carry.add({1, static_cast<double>(r.rows)}, step.carry);
    out.ranges.rows = std::max<std::uint64_t>(out.ranges.rows, r.rows);
    out.ranges.tokens = std::max<std::uint64_t>(out.ranges.tokens, r.tokens);
    out.ranges.kv_tokens = std::max(out.ranges.kv_tokens, r.kv_tokens);
  }
  const double pause_us = find_pause_us(program);
  const Fit of_forward = fit_forward(program, pause_us);
  const Fit of_carry = fit_terms(carry);
  const std::vector<double>& terms = of_forward.terms;
  out.profile.kernel(Work::kForward) = {.base_us = terms[0],
                                        .per_row_us = terms[1],
                                        .per_token_us = terms[2],
                                        .per_kv_ktoken_us = terms[3],
                                        .per_attention_kpair_us = terms[4],
                                        .after_pause_us = terms[5],
                                        .pause_us = terms[5] > 0 ? pause_us : 0};
  out.profile.kernel(Work::kCarry) = {.base_us = of_carry.terms[0],
                                      .per_row_us = of_carry.terms[1]};
  out.fits.forward = of_forward.quality;
  out.fits.carry = of_carry.quality;
}

void take_runtime(const MeasuredRuntime& runtime, const MeasuredCalls& calls, Calibration& out) {
  sim::HardwareProfile& profile = out.profile;
  profile.host = {
      .kernel_launch_us = calls.kernel_launch,
      .graph_launch_us = std::max(0.0, calls.graph_launch - runtime.graph_launch_per_node_us),
      .graph_launch_per_node_us = runtime.graph_launch_per_node_us,
      .copy_us = calls.copy,
      .record_us = calls.record,
      .wait_us = calls.wait,
      .signal_us = runtime.signal_us,
      .query_us = runtime.query_us,
      .synchronize_us = runtime.synchronize_us,
      .wake_us = calls.wake};
  profile.launch.latency_us = calls.launch_latency;
  profile.launch.handover_us = calls.handover;
  profile.graph = runtime.graph;
  profile.kernel(Work::kNone).base_us = runtime.empty_kernel_us;
  profile.h2d = runtime.h2d;
  profile.d2h = runtime.d2h;
  profile.d2d = runtime.d2d;
  profile.peer = runtime.d2d;
  profile.pageable = runtime.pageable;
  out.assumed = {"launch.queue_depth", "peer"};
  out.fits.h2d = runtime.h2d_fit;
  out.fits.d2h = runtime.d2h_fit;
  out.fits.d2d = runtime.d2d_fit;
  out.fits.pageable = runtime.pageable_fit;
}

}  // namespace

Calibration calibrate(const EngineFactory& make_engine, const models::Model& model,
                      const models::BatchLimits& limits, std::uint64_t entries,
                      const OnCalibration& on_progress) {
  const auto requests = calibration_requests(limits, model, entries);
  const MeasuredRuntime runtime = measure_runtime(make_engine, on_progress);
  const MeasuredProgram program =
      measure_program(make_engine, model, limits, requests, kStepsBudget, on_progress);
  Calibration out;
  fit_spans(program, out);
  fit_kernels(program, out);
  take_runtime(runtime, program.calls, out);
  return out;
}

}  // namespace syncopate::experiments
