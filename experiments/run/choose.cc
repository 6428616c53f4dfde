#include "experiments/run/choose.h"

#include <cstdint>

#include "experiments/run/attentions.h"
#include "experiments/run/benchmark_options.h"

namespace syncopate::experiments {
namespace {

PassStrategy strategy_of(ulysses::StrategyKind kind) {
  using ulysses::StrategyKind;
  switch (kind) {
    case StrategyKind::kOrdinary:
      return PassStrategy::kOrdinary;
    case StrategyKind::kWholeFused:
      return PassStrategy::kWholeFused;
    case StrategyKind::kChunkSequential:
      return PassStrategy::kChunkSequential;
    case StrategyKind::kChunkOverlap:
      break;
  }
  return PassStrategy::kChunkOverlap;
}

std::vector<Transport> transports(const UlyssesConfig& c, const VariantConfig& variant,
                                  const sim::HardwareProfile& profile) {
  if (variant.transport) return {*variant.transport};
  std::vector<Transport> out = described_transports(profile);
  const bool shares_gpus = c.runtime.devices && *c.runtime.devices < c.shape.world;
  std::erase_if(out, [&](Transport transport) {
    return (transport == Transport::kNccl && shares_gpus) ||
           !what_is_missing(transport, c.runtime.kind).empty();
  });
  return out;
}

}  // namespace

ChosenVariants choose_variants(const ResolvedConfig& config, const OnCompared& on_compared) {
  ChosenVariants out{std::get<UlyssesConfig>(config.config), {}};
  UlyssesConfig& c = out.config;
  out.found.resize(c.variants.size());
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    VariantConfig& variant = c.variants[i];
    if (variant.strategy != PassStrategy::kAuto) continue;
    const sim::HardwareProfile& profile = config.search_profile.value().profile;
    SearchSpace space;
    space.shape = layout_options(c.shape);
    space.common.causal = c.shape.causal;
    space.common.graphs = variant.graphs;
    space.common.workspace = variant.workspace;
    space.transports = transports(c, variant, profile);
    space.max_bands = c.search.max_bands;
    const SearchResult& found = out.found[i].emplace(search(space, profile, on_compared));
    const ulysses::BenchmarkVariant& best = found.best().variant;
    variant.strategy = strategy_of(best.options.strategy);
    variant.transport = best.options.transport;
    if (chunks(variant.strategy)) variant.schedule = best.schedule;
  }
  resolve(c);
  return out;
}

}  // namespace syncopate::experiments
