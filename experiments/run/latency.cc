#include "experiments/run/latency.h"

#include <cstddef>

namespace syncopate::experiments {
namespace {

constexpr double kNanosPerMs = 1e6;

double done(const RunResult& run, std::int32_t step) {
  return static_cast<double>(run.steps[static_cast<std::size_t>(step)].done) / kNanosPerMs;
}

double step_time(const RunResult& run, std::int32_t step) {
  const auto i = static_cast<std::size_t>(step);
  return static_cast<double>(run.steps[i].done - run.steps[i - 1].done) / kNanosPerMs;
}

}  // namespace

RequestLatency latency(const RunResult& run, const RequestRecord& request) {
  RequestLatency out;
  out.ttft = done(run, request.first_step);
  out.end = done(run, request.last_step);
  if (request.new_tokens > 1) out.tpot = (out.end - out.ttft) / (request.new_tokens - 1);
  return out;
}

std::vector<double> token_gaps(const RunResult& run) {
  std::vector<double> gaps;
  for (const RequestRecord& request : run.requests) {
    if (request.new_tokens == 0) continue;
    for (std::int32_t s = request.first_step + 1; s <= request.last_step; ++s) {
      gaps.push_back(step_time(run, s));
    }
  }
  return gaps;
}

}  // namespace syncopate::experiments
