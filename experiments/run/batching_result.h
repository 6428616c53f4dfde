// What a run of the batching program leaves behind, beside its timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/batching/request.h"
#include "backend/runtime/timeline.h"
#include "experiments/config/batching_config.h"

namespace syncopate::experiments {

/// What became of one request, without its tokens.
struct RequestRecord {
  std::uint32_t prompt_tokens = 0;
  batching::FinishReason reason = batching::FinishReason::kNone;
  std::string error;                      ///< Why it was refused; else empty.
  std::vector<std::int32_t> token_steps;  ///< The step that sampled each new token.
  runtime::Nanos arrival = 0;             ///< On the timeline's clock; kUnknownTime: it never came.
  std::uint32_t preemptions = 0;

  std::size_t new_tokens() const { return token_steps.size(); }
};

/// Plain data. Of an interrupted run: the steps that were finished and the tokens of these.
struct BatchingResult {
  std::vector<batching::StepRecord> steps;
  std::vector<RequestRecord> requests;
  std::uint64_t slot_bytes = 0;
  std::optional<SloConfig> slo;
  std::optional<std::uint64_t> tokens_digest;     ///< None with effects off, or with an error.
  std::vector<std::vector<std::int32_t>> tokens;  ///< By request, with output.tokens; else empty.

  std::size_t finished_steps() const { return steps.size(); }
};

}  // namespace syncopate::experiments
