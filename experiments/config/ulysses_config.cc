#include "experiments/config/ulysses_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace syncopate::experiments {
namespace {

std::string name_for(const VariantConfig& c) {
  std::string name(yaml::name_of(c.strategy));
  if (c.schedule) name += fmt::format(" {}", fmt::join(*c.schedule, "+"));
  if (c.slots && *c.slots < c.schedule->size()) {
    name += fmt::format(" {} slot{}", *c.slots, *c.slots == 1 ? "" : "s");
  }
  if (c.enqueue == EnqueueOrder::kInTurn) name += " in_turn";
  if (c.transport != Transport::kPeer) name += fmt::format(" {}", yaml::name_of(c.transport));
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
    if (!variant.schedule && ulysses::chunks(variant.strategy)) {
      variant.schedule = default_schedule(shape.heads / shape.world);
    }
    if (!variant.slots && variant.strategy == ulysses::StrategyKind::kChunkOverlap) {
      variant.slots = static_cast<std::uint32_t>(variant.schedule->size());
    }
    if (!variant.name) variant.name = name_for(variant);
  }
}

}  // namespace syncopate::experiments
