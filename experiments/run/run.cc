#include "experiments/run/run.h"

#include <span>
#include <utility>

#include "backend/batching/batcher.h"
#include "backend/runtime/runtime.h"
#include "experiments/run/batcher_options.h"
#include "experiments/run/engines.h"
#include "experiments/run/models.h"
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
    record.arrival = batcher.start() + requests[i].arrival;
    record.preemptions = result.preemptions;
  }
  return out;
}

std::vector<std::vector<std::int32_t>> tokens(const batching::Batcher& batcher,
                                              std::size_t requests) {
  std::vector<std::vector<std::int32_t>> out;
  out.reserve(requests);
  for (std::uint32_t i = 0; i < requests; ++i) {
    const std::span<const std::int32_t> ids = batcher.result(i).tokens;
    out.emplace_back(ids.begin(), ids.end());
  }
  return out;
}

}  // namespace

RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress) {
  const Config& c = config.config;
  // What must outlive the runtime comes before it.
  MadeModel made = make_model(config);
  const auto& model = made.model;
  const auto requests = make_requests(c.requests, model->vocab());

  runtime::Runtime runtime(make_engine(config), {.detail = c.output.log ? runtime::Detail::kAll
                                                                        : runtime::Detail::kTimes,
                                                 .removed_sites = {}});
  batching::BatcherOptions options = batcher_options(c);
  if (on_progress) {
    std::uint64_t most_tokens = 0;
    for (const batching::Request& request : requests) most_tokens += request.max_new_tokens;
    options.on_step = [&on_progress, most_tokens](std::uint64_t steps, std::uint64_t tokens) {
      on_progress({steps, tokens, most_tokens});
    };
  }
  batching::Batcher batcher(runtime, runtime::Device{0}, *model, batch_limits(c.limits),
                            std::move(options), requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);

  RunResult result;
  result.warning = std::move(made.warning);
  result.steps.assign(batcher.steps().begin(), batcher.steps().end());
  result.requests = records(batcher, requests);
  result.slot_bytes = batcher.slot_bytes();
  if (c.runtime.effects) result.tokens_digest = batcher.tokens_digest();
  if (c.output.tokens) result.tokens = tokens(batcher, requests.size());
  result.timeline = runtime.take_timeline();
  return result;
}

}  // namespace syncopate::experiments
