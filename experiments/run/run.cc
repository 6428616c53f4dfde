#include "experiments/run/run.h"

#include <utility>

#include "experiments/run/models.h"

namespace syncopate::experiments {

RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress) {
  const auto* batching = std::get_if<BatchingConfig>(&config.config);
  if (batching == nullptr) throw runtime::UnavailableError("program ulysses cannot be run yet");
  MadeModel made = make_model(*batching);
  RunResult result = run_model(config, *made.model, on_progress);
  result.warning = std::move(made.warning);
  return result;
}

}  // namespace syncopate::experiments
