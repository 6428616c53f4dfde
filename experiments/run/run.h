// A run: from a resolved configuration to what it left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "backend/models/model.h"
#include "backend/runtime/error.h"
#include "backend/runtime/timeline.h"
#include "backend/ulysses/attention.h"
#include "experiments/config/load.h"
#include "experiments/run/batching_result.h"
#include "experiments/run/ulysses_result.h"

namespace syncopate::experiments {

/// How far a run has come. `most` is an upper bound: an end token may end requests early.
struct Progress {
  std::uint64_t steps = 0;
  std::uint64_t done = 0;
  std::uint64_t most = 0;
  const char* unit = "tokens";  ///< Of these two.
};
/// Called on the run's host thread after each step: keep it short.
using OnProgress = std::function<void(const Progress&)>;

/// Plain data.
struct RunResult {
  runtime::Timeline timeline;
  std::string warning;  ///< Of the model's making (MadeModel); empty: none.
  std::string error;    ///< What ended the run before its end; empty: nothing did.
  std::variant<BatchingResult, UlyssesResult> program;

  /// Those that were finished, each with the number that the timeline gives it.
  std::size_t steps() const {
    return std::visit([](const auto& result) { return result.finished_steps(); }, program);
  }
  const BatchingResult& batching() const { return std::get<BatchingResult>(program); }
  const UlyssesResult& ulysses() const { return std::get<UlyssesResult>(program); }
};

/// An error ended the run while it ran: its text is the error's. Of the run there is what was
/// finished; the timeline has all that was logged.
class InterruptedRun : public runtime::Error {
 public:
  /// `so_far` has its error.
  explicit InterruptedRun(std::shared_ptr<const RunResult> so_far)
      : Error(so_far->error), so_far_(std::move(so_far)) {}
  const RunResult& so_far() const { return *so_far_; }

 private:
  std::shared_ptr<const RunResult> so_far_;  // exceptions are copied
};

/// Builds runtime, model or attention, and program by their names, and runs them to the end. Throws
/// InterruptedRun, and runtime::Error before there is a run: a model that cannot be loaded, memory
/// that is not there.
RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress = {});
/// The same of the batching program, with the caller's model in place of the configuration's.
RunResult run_model(const ResolvedConfig& config, const models::Model& model,
                    const OnProgress& on_progress = {});
/// The same of the Ulysses program, with the caller's attention.
RunResult run_attention(const ResolvedConfig& config, const ulysses::Attention& attention,
                        const OnProgress& on_progress = {});

}  // namespace syncopate::experiments
