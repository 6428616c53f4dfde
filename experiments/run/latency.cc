#include "experiments/run/latency.h"

#include <cstddef>

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

std::vector<double> token_gaps(const BatchingResult& run) {
  std::size_t tokens = 0;
  for (const RequestRecord& request : run.requests) tokens += request.new_tokens();
  std::vector<double> gaps;
  gaps.reserve(tokens);
  for (const RequestRecord& request : run.requests) {
    for (std::size_t i = 1; i < request.new_tokens(); ++i) {
      gaps.push_back(
          milliseconds(done(run, request.token_steps[i]) - done(run, request.token_steps[i - 1])));
    }
  }
  return gaps;
}

}  // namespace syncopate::experiments
