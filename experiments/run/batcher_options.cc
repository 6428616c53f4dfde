#include "experiments/run/batcher_options.h"

#include <cmath>

namespace syncopate::experiments {

models::BatchLimits batch_limits(const LimitsConfig& limits) {
  return {.rows = limits.rows,
          .tokens = limits.tokens,
          .pages_per_row = 0,
          .page_tokens = limits.page_tokens,
          .pages = limits.pages};
}

batching::BatcherOptions batcher_options(const BatchingConfig& config) {
  batching::BatcherOptions options;
  options.strategy = config.strategy.kind;
  options.slots = config.strategy.slots.value();
  options.graphs = config.strategy.graphs;
  options.streams = {.blocking = config.strategy.blocking_streams,
                     .d2h_on_default = config.strategy.d2h_on_default};
  if (!config.strategy.pinned) options.host_memory = runtime::Memory::kPageable;
  options.scheduler = config.scheduler;
  options.extra_host_ns = std::llround(config.host.extra_us * 1e3);
  return options;
}

}  // namespace syncopate::experiments
