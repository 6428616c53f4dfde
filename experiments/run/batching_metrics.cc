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

namespace {

/// Of the requests that were answered to their end.
Json slo_json(const BatchingResult& run, double seconds) {
  if (!run.slo) return nullptr;
  std::uint64_t answered = 0;
  std::uint64_t met = 0;
  for (const RequestRecord& request : run.requests) {
    using batching::FinishReason;
    if (request.reason != FinishReason::kLength && request.reason != FinishReason::kEos &&
        request.reason != FinishReason::kStop) {
      continue;
    }
    ++answered;
    const RequestLatency times = latency(run, request);
    if (run.slo->ttft_ms && times.ttft > *run.slo->ttft_ms) continue;
    if (run.slo->tpot_ms && times.tpot > *run.slo->tpot_ms) continue;
    ++met;
  }
  const auto share = [](std::uint64_t part, double whole, double by) {
    return whole > 0 ? Json(by * static_cast<double>(part) / whole) : Json(nullptr);
  };
  return {{"ttft_ms", run.slo->ttft_ms ? Json(*run.slo->ttft_ms) : Json(nullptr)},
          {"tpot_ms", run.slo->tpot_ms ? Json(*run.slo->tpot_ms) : Json(nullptr)},
          {"requests_met", met},
          {"met_pct", share(met, static_cast<double>(answered), 100)},
          {"goodput_requests_per_s", share(met, seconds, 1)}};
}

}  // namespace

Json batching_metrics(const BatchingResult& run, double seconds) {
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
          {"itl_ms", to_json(analysis::distribution(token_gaps(run)))},
          {"slo", slo_json(run, seconds)}};
}

}  // namespace syncopate::experiments
