#include "experiments/run/batching_metrics.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/percentiles.h"
#include "experiments/run/json.h"
#include "experiments/run/latency.h"

namespace syncopate::experiments {

using Json = nlohmann::ordered_json;

void add_tokens(Json& figures, const BatchingResult& run, double seconds) {
  std::uint64_t tokens = 0;
  for (const RequestRecord& request : run.requests) tokens += request.new_tokens();
  figures["tokens"] = tokens;
  figures["tokens_per_s"] =
      seconds > 0 ? Json(static_cast<double>(tokens) / seconds) : Json(nullptr);
}

void add_digest(Json& figures, const BatchingResult& run) {
  figures["tokens_digest"] =
      run.tokens_digest ? Json(fmt::format("{:016x}", *run.tokens_digest)) : Json(nullptr);
}

Json batching_metrics(const BatchingResult& run) {
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

}  // namespace syncopate::experiments
