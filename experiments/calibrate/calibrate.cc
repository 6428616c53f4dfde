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

constexpr std::chrono::seconds kStepsBudget{20};

void fit_spans(const MeasuredProgram& program, Calibration& out) {
  Observations prepare(3);
  Observations update(2);
  for (const auto* steps : {&program.ordered, &program.async}) {
    for (const MeasuredStep& step : *steps) {
      const auto rows = static_cast<double>(step.record.rows);
      prepare.add({1, rows, static_cast<double>(step.record.changed_rows)}, step.prepare);
      update.add({1, rows}, step.update);
    }
  }
  const Fit of_prepare = fit_terms(prepare);
  const Fit of_update = fit_terms(update);
  out.profile.span(Work::kPrepare) = {of_prepare.terms[0], of_prepare.terms[1],
                                      of_prepare.terms[2]};
  out.profile.span(Work::kUpdate) = {of_update.terms[0], of_update.terms[1], 0};
  out.fits.prepare = of_prepare.quality;
  out.fits.update = of_update.quality;
}

void fit_kernels(const MeasuredProgram& program, Calibration& out) {
  Observations forward(5);
  Observations carry(2);
  for (const auto* steps : {&program.ordered, &program.async}) {
    for (const MeasuredStep& step : *steps) {
      const batching::StepRecord& r = step.record;
      const auto rows = static_cast<double>(r.rows);
      forward.add({1, rows, static_cast<double>(r.tokens), static_cast<double>(r.kv_tokens) / 1e3,
                   static_cast<double>(r.attention_pairs) / 1e3},
                  step.forward);
      carry.add({1, rows}, step.carry);
      out.ranges.rows = std::max<std::uint64_t>(out.ranges.rows, r.rows);
      out.ranges.tokens = std::max<std::uint64_t>(out.ranges.tokens, r.tokens);
      out.ranges.kv_tokens = std::max(out.ranges.kv_tokens, r.kv_tokens);
    }
  }
  const Fit of_forward = fit_terms(forward);
  const Fit of_carry = fit_terms(carry);
  const std::vector<double>& terms = of_forward.terms;
  out.profile.kernel(Work::kForward) = {.base_us = terms[0],
                                        .per_row_us = terms[1],
                                        .per_token_us = terms[2],
                                        .per_kv_ktoken_us = terms[3],
                                        .per_attention_kpair_us = terms[4]};
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
                      const models::BatchLimits& limits, const OnCalibration& on_progress) {
  const auto requests = calibration_requests(limits, model);
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
