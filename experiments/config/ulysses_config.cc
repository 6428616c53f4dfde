#include "experiments/config/ulysses_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace syncopate::experiments {
namespace {

std::string name_for(const VariantConfig& c) {
  std::string name(yaml::name_of(c.strategy));
  if (c.schedule) name += fmt::format(" {}", fmt::join(*c.schedule, "+"));
  if (c.slots && *c.slots < c.schedule->size()) {
    name += fmt::format(" {} slot{}", *c.slots, *c.slots == 1 ? "" : "s");
  }
  if (c.enqueue == EnqueueOrder::kInTurn) name += " in_turn";
  if (c.transport.value_or(Transport::kPeer) != Transport::kPeer) {
    name += fmt::format(" {}", yaml::name_of(*c.transport));
  }
  if (c.graphs) name += " graphs";
  if (c.workspace == WorkspaceUse::kPerCall) name += " per_call";
  return name;
}

}  // namespace

std::vector<std::uint32_t> default_schedule(std::uint32_t local_heads) {
  if (local_heads < 4) return std::vector<std::uint32_t>(local_heads, 1);
  const std::uint32_t quarter = local_heads / 4;
  return {quarter, local_heads - 2 * quarter, quarter};
}

void resolve(UlyssesConfig& config) {
  UlyssesShapeConfig& shape = config.shape;
  if (!shape.kv_heads) shape.kv_heads = shape.heads;
  for (VariantConfig& variant : config.variants) {
    if (!variant.schedule && chunks(variant.strategy)) {
      variant.schedule = default_schedule(shape.heads / shape.world);
    }
    if (!variant.slots && variant.strategy == PassStrategy::kChunkOverlap) {
      variant.slots = static_cast<std::uint32_t>(variant.schedule->size());
    }
    if (!variant.transport && variant.strategy != PassStrategy::kAuto) {
      variant.transport = Transport::kPeer;
    }
    if (!variant.name) variant.name = name_for(variant);
  }
}

bool chunks(PassStrategy strategy) {
  return strategy == PassStrategy::kChunkSequential || strategy == PassStrategy::kChunkOverlap;
}

ulysses::StrategyKind strategy_kind(PassStrategy strategy) {
  using ulysses::StrategyKind;
  switch (strategy) {
    case PassStrategy::kOrdinary:
      return StrategyKind::kOrdinary;
    case PassStrategy::kWholeFused:
      return StrategyKind::kWholeFused;
    case PassStrategy::kChunkSequential:
      return StrategyKind::kChunkSequential;
    case PassStrategy::kChunkOverlap:
      return StrategyKind::kChunkOverlap;
    case PassStrategy::kAuto:
      break;
  }
  throw std::logic_error("strategy auto is none before the search");
}

std::optional<SearchProfile> search_profile(const UlyssesConfig& config) {
  const bool any = std::ranges::any_of(
      config.variants, [](const VariantConfig& c) { return c.strategy == PassStrategy::kAuto; });
  if (!any) return {};
  if (config.search.profile) return SearchProfile{*config.search.profile, "search.profile"};
  if (config.runtime.profile) return SearchProfile{*config.runtime.profile, "runtime.profile"};
  return {};
}

// Of n heads, n - 1 places lie between two: b bands are a choice of b - 1 of them.
double schedules(std::uint32_t heads, std::uint32_t max_bands) {
  constexpr double kMost = 9007199254740992;  // 2^53
  double all = 0, of_bands = 1;
  for (std::uint32_t bands = 1; bands <= std::min(heads, max_bands); ++bands) {
    all += of_bands;
    if (all >= kMost) return kMost;
    of_bands *= static_cast<double>(heads - bands) / bands;
  }
  return all;
}

}  // namespace syncopate::experiments
