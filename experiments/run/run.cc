#include "experiments/run/run.h"

#include <utility>

#include "experiments/run/attentions.h"
#include "experiments/run/models.h"

namespace syncopate::experiments {

RunResult run_config(const ResolvedConfig& config, const OnProgress& on_progress) {
  if (const auto* c = std::get_if<UlyssesConfig>(&config.config)) {
    return run_attention(config, *make_attention(*c), on_progress);
  }
  MadeModel made = make_model(std::get<BatchingConfig>(config.config));
  RunResult result = run_model(config, *made.model, on_progress);
  result.warning = std::move(made.warning);
  return result;
}

}  // namespace syncopate::experiments
