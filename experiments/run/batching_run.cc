#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/batching/batcher.h"
#include "backend/runtime/runtime.h"
#include "experiments/run/batcher_options.h"
#include "experiments/run/engines.h"
#include "experiments/run/finish.h"
#include "experiments/run/run.h"
#include "experiments/run/workload.h"

namespace syncopate::experiments {
namespace {

std::vector<RequestRecord> records(const batching::Batcher& batcher,
                                   const std::vector<batching::Request>& requests) {
  std::vector<RequestRecord> out;
  out.reserve(requests.size());
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const batching::RequestResult result = batcher.result(i);
    RequestRecord& record = out.emplace_back();
    record.prompt_tokens = static_cast<std::uint32_t>(requests[i].prompt.size());
    record.reason = result.reason;
    record.error = result.error;
    record.token_steps = batcher.token_steps(i);
    const runtime::Nanos arrival = batcher.arrival(i);
    record.arrival =
        arrival == batching::kNever ? runtime::kUnknownTime : batcher.start() + arrival;
    record.preemptions = result.preemptions;
  }
  return out;
}

std::vector<std::vector<std::int32_t>> tokens(const batching::Batcher& batcher,
                                              const std::vector<RequestRecord>& requests) {
  std::vector<std::vector<std::int32_t>> out;
  out.reserve(requests.size());
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const auto ids = batcher.result(i).tokens.first(requests[i].new_tokens());
    out.emplace_back(ids.begin(), ids.end());
  }
  return out;
}

/// An error may come between a step's tokens and the step's end: such tokens are not kept.
void drop_unfinished(BatchingResult& result, std::size_t finished_steps) {
  result.steps.resize(finished_steps);
  for (RequestRecord& request : result.requests) {
    const auto unfinished = [finished_steps](std::int32_t step) {
      return static_cast<std::size_t>(step) >= finished_steps;
    };
    if (std::erase_if(request.token_steps, unfinished) > 0) {
      request.reason = batching::FinishReason::kNone;
    }
  }
}

}  // namespace

RunResult run_model(const ResolvedConfig& config, const models::Model& model,
                    const OnProgress& on_progress) {
  const auto& c = std::get<BatchingConfig>(config.config);
  // What must outlive the runtime comes before it.
  const auto requests = make_requests(c.requests, model.vocab());

  runtime::Runtime runtime(make_engine(config), {.detail = c.output.log ? runtime::Detail::kAll
                                                                        : runtime::Detail::kTimes,
                                                 .removed_sites = {}});
  std::size_t finished_steps = 0;
  std::uint64_t most_tokens = 0;
  for (const batching::Request& request : requests) most_tokens += request.max_new_tokens;
  batching::BatcherOptions options = batcher_options(c);
  options.on_step = [&](std::uint64_t steps, std::uint64_t tokens) {
    finished_steps = steps;
    if (on_progress) on_progress({steps, tokens, most_tokens, "tokens"});
  };
  batching::Batcher batcher(runtime, runtime::Device{0}, model, batch_limits(c.limits),
                            std::move(options), requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  RunResult run;
  run_to_end(runtime, mains, run);
  const bool complete = run.error.empty();
  auto& result = run.program.emplace<BatchingResult>();
  result.steps.assign(batcher.steps().begin(), batcher.steps().end());
  result.requests = records(batcher, requests);
  if (!complete) drop_unfinished(result, finished_steps);
  result.slot_bytes = batcher.slot_bytes();
  result.slo = c.slo;
  if (c.runtime.effects && complete) result.tokens_digest = batcher.tokens_digest();
  if (c.output.tokens) result.tokens = tokens(batcher, result.requests);
  return finished(std::move(run));
}

}  // namespace syncopate::experiments
