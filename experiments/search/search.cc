#include "experiments/search/search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

bool takes_time(const sim::KernelCost& cost) {
  return cost.base_us > 0 || cost.per_mb_us > 0 || cost.per_row_us > 0 || cost.per_token_us > 0;
}

}  // namespace

const Contender* SearchResult::loser() const {
  if (overlaps) return &plain;
  return overlapped ? &*overlapped : nullptr;
}

SearchResult search(const SearchSpace& space, const sim::HardwareProfile& profile,
                    const OnCompared& on_compared) {
  const std::vector<ulysses::BenchmarkVariant> all = candidates(space);
  // The first of the fastest without overlap, and with it.
  struct Fastest {
    const ulysses::BenchmarkVariant* variant = nullptr;
    Nanos time = 0;
  } plain, overlapped;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Nanos time = pass_time(space, all[i], profile);
    const bool overlaps = all[i].options.strategy == ulysses::StrategyKind::kChunkOverlap;
    Fastest& fastest = overlaps ? overlapped : plain;
    if (fastest.variant == nullptr || time < fastest.time) fastest = {&all[i], time};
    if (on_compared) on_compared(i + 1, all.size());
  }
  SearchResult result;
  result.profile = profile.name;
  result.compared = all.size();
  result.plain = {*plain.variant, pass_figures(space, *plain.variant, profile)};
  if (overlapped.variant != nullptr) {
    result.overlaps = overlapped.time < plain.time;
    result.overlapped =
        Contender{*overlapped.variant, pass_figures(space, *overlapped.variant, profile)};
  }
  return result;
}

std::vector<ulysses::Transport> described_transports(const sim::HardwareProfile& profile) {
  std::vector<ulysses::Transport> out = {ulysses::Transport::kPeer};
  if (takes_time(profile.kernel(runtime::Work::kExchange))) {
    out.push_back(ulysses::Transport::kNccl);
  }
  return out;
}

}  // namespace syncopate::experiments
