#include "experiments/run/latency.h"

#include <cstddef>
#include <cstdint>

#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

runtime::Nanos done(const BatchingResult& run, std::int32_t step) {
  return run.steps[static_cast<std::size_t>(step)].done;
}

}  // namespace

RequestLatency latency(const BatchingResult& run, const RequestRecord& request) {
  RequestLatency out;
  out.ttft = milliseconds(done(run, request.token_steps.front()) - request.arrival);
  out.end = milliseconds(done(run, request.token_steps.back()) - request.arrival);
  const std::size_t tokens = request.new_tokens();
  if (tokens > 1) out.tpot = (out.end - out.ttft) / static_cast<double>(tokens - 1);
  return out;
}

std::vector<analysis::Weighted<double>> token_gaps(const BatchingResult& run) {
  // Most tokens come a step after the one before them: those are counted by step.
  std::vector<std::size_t> next_step(run.steps.size(), 0);
  std::vector<analysis::Weighted<double>> gaps;
  for (const RequestRecord& request : run.requests) {
    for (std::size_t i = 1; i < request.new_tokens(); ++i) {
      const std::int32_t from = request.token_steps[i - 1];
      const std::int32_t to = request.token_steps[i];
      if (to == from + 1) {
        ++next_step[static_cast<std::size_t>(to)];
      } else {
        gaps.push_back({milliseconds(done(run, to) - done(run, from)), 1});
      }
    }
  }
  for (std::size_t step = 1; step < next_step.size(); ++step) {
    if (next_step[step] == 0) continue;
    const runtime::Nanos gap = run.steps[step].done - run.steps[step - 1].done;
    gaps.push_back({milliseconds(gap), next_step[step]});
  }
  return gaps;
}

}  // namespace syncopate::experiments
