#include "experiments/run/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "experiments/run/latency.h"

namespace syncopate::experiments {
namespace {

using runtime::kUnknownTime;
using runtime::Nanos;
using runtime::Operation;
using runtime::OperationKind;

struct Span {
  Nanos start = kUnknownTime;
  Nanos end = kUnknownTime;
};

std::vector<Span> device_spans(const BatchingResult& run, const runtime::Timeline& timeline) {
  std::vector<Span> spans(run.steps.size());
  for (const Operation& op : timeline.operations) {
    const bool host = op.kind == OperationKind::kHostSpan || op.kind == OperationKind::kHostBlock;
    if (host || op.step < 0 || op.start == kUnknownTime) continue;
    const auto step = static_cast<std::size_t>(op.step);
    if (step >= spans.size()) continue;  // of an interrupted run: not finished
    Span& span = spans[step];
    span.start = span.start == kUnknownTime ? op.start : std::min(span.start, op.start);
    span.end = std::max(span.end, op.end);
  }
  return spans;
}

std::string ms(Nanos time) {
  return time == kUnknownTime ? "" : fmt::format("{:.6f}", static_cast<double>(time) * 1e-6);
}

}  // namespace

std::string steps_csv(const BatchingResult& run, const runtime::Timeline& timeline) {
  const std::vector<Span> spans = device_spans(run, timeline);
  std::string out =
      "step,slot,rows,prefill_rows,tokens,discarded,preempted,kv_tokens,device_start_ms,"
      "device_end_ms,done_ms\n";
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const batching::StepRecord& step = run.steps[i];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{}\n", i, step.slot,
                   step.rows, step.prefill_rows, step.tokens, step.discarded, step.preempted,
                   step.kv_tokens, ms(spans[i].start), ms(spans[i].end), ms(step.done));
  }
  return out;
}

std::string requests_csv(const BatchingResult& run) {
  std::string out =
      "request,prompt_tokens,new_tokens,finish,preemptions,first_step,last_step,arrival_ms,ttft_ms,"
      "tpot_ms,end_ms\n";
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const RequestRecord& request = run.requests[i];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},", i, request.prompt_tokens,
                   request.new_tokens(), batching::to_string(request.reason), request.preemptions);
    if (request.new_tokens() == 0) {
      const bool came = request.arrival != runtime::kUnknownTime;
      fmt::format_to(std::back_inserter(out), ",,{},,,\n", came ? ms(request.arrival) : "");
      continue;
    }
    const RequestLatency times = latency(run, request);
    fmt::format_to(std::back_inserter(out), "{},{},{},{:.6f},{:.6f},{:.6f}\n",
                   request.token_steps.front(), request.token_steps.back(), ms(request.arrival),
                   times.ttft, times.tpot, times.end);
  }
  return out;
}

}  // namespace syncopate::experiments
