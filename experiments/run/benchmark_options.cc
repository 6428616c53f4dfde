#include "experiments/run/benchmark_options.h"

namespace syncopate::experiments {

ulysses::LayoutOptions layout_options(const UlyssesShapeConfig& shape) {
  ulysses::LayoutOptions options;
  options.batch = shape.batch;
  options.tokens =
      shape.tokens ? *shape.tokens : ulysses::split_evenly(*shape.sequence, shape.world);
  options.heads = shape.heads;
  options.kv_heads = *shape.kv_heads;
  options.head_dim = shape.head_dim;
  options.type = shape.type;
  return options;
}

ulysses::BenchmarkOptions benchmark_options(const UlyssesConfig& config) {
  ulysses::BenchmarkOptions options;
  options.shape = layout_options(config.shape);
  options.causal = config.shape.causal;
  for (const VariantConfig& c : config.variants) {
    ulysses::BenchmarkVariant& variant = options.variants.emplace_back();
    variant.name = *c.name;
    variant.options.strategy = strategy_kind(c.strategy);
    variant.options.slots = c.slots.value_or(0);
    variant.options.enqueue = c.enqueue;
    variant.options.graphs = c.graphs;
    variant.options.transport = *c.transport;
    variant.options.workspace = c.workspace;
    if (c.schedule) variant.schedule = *c.schedule;
  }
  options.warmups = config.benchmark.warmups;
  options.iterations = config.benchmark.iterations;
  options.check = config.benchmark.check && config.runtime.effects;
  options.tolerance = config.benchmark.tolerance;
  options.seed = config.benchmark.seed;
  return options;
}

}  // namespace syncopate::experiments
