// A run: from a resolved configuration to what it left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/batching/request.h"
#include "backend/runtime/timeline.h"
#include "experiments/config/load.h"

namespace syncopate::experiments {

/// How far a run has come. `most_tokens` is an upper bound: an end token may end requests early.
struct Progress {
  std::uint64_t steps = 0;
  std::uint64_t tokens = 0;
  std::uint64_t most_tokens = 0;
};
/// Called on the run's host thread after each step: keep it short.
using OnProgress = std::function<void(const Progress&)>;

/// What became of one request, without its tokens.
struct RequestRecord {
  std::uint32_t prompt_tokens = 0;
  batching::FinishReason reason = batching::FinishReason::kNone;
  std::string error;                      ///< Why it was refused; else empty.
  std::vector<std::int32_t> token_steps;  ///< The step that sampled each new token.
  runtime::Nanos arrival = 0;             ///< On the timeline's clock.
  std::uint32_t preemptions = 0;

  std::size_t new_tokens() const { return token_steps.size(); }
};

/// Plain data.
struct RunResult {
  runtime::Timeline timeline;
  std::vector<batching::StepRecord> steps;
  std::vector<RequestRecord> requests;
  std::string warning;  ///< Of the model's making (MadeModel); empty: none.
  std::uint64_t slot_bytes = 0;
  std::optional<std::uint64_t> tokens_digest;     ///< None with effects off.
  std::vector<std::vector<std::int32_t>> tokens;  ///< By request, with output.tokens; else empty.
};

/// Builds runtime, model and program by their names, and runs them to the end. Throws
/// runtime::Error.
RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress = {});

}  // namespace syncopate::experiments
