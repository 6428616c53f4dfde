// A run: from a resolved configuration to what it left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/batching/request.h"
#include "backend/models/model.h"
#include "backend/runtime/error.h"
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
  std::optional<std::uint64_t> tokens_digest;     ///< None with effects off, or with an error.
  std::vector<std::vector<std::int32_t>> tokens;  ///< By request, with output.tokens; else empty.
  std::string error;  ///< What ended the run before its end; empty: nothing did.
};

/// An error ended the run while it ran: its text is the error's. Of the run there are the steps
/// that were finished and the tokens of these; the timeline has all that was logged.
class InterruptedRun : public runtime::Error {
 public:
  /// `so_far` has its error.
  explicit InterruptedRun(std::shared_ptr<const RunResult> so_far)
      : Error(so_far->error), so_far_(std::move(so_far)) {}
  const RunResult& so_far() const { return *so_far_; }

 private:
  std::shared_ptr<const RunResult> so_far_;  // exceptions are copied
};

/// Builds runtime, model and program by their names, and runs them to the end. Throws
/// InterruptedRun, and runtime::Error before there is a run: a model that cannot be loaded, memory
/// that is not there.
RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress = {});
/// The same with the caller's model in place of the configuration's.
RunResult run_model(const ResolvedConfig& config, const models::Model& model,
                    const OnProgress& on_progress = {});

}  // namespace syncopate::experiments
