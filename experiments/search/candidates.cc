#include "experiments/search/candidates.h"

#include <algorithm>
#include <functional>

namespace syncopate::experiments {
namespace {

using ulysses::StrategyKind;
using Schedule = std::vector<std::uint32_t>;

/// Appends to `out` all schedules that begin with `begun` and divide `heads` among `bands` more.
void divide(std::uint32_t heads, std::uint32_t bands, Schedule& begun, std::vector<Schedule>& out) {
  if (bands == 1) {
    out.push_back(begun);
    out.back().push_back(heads);
    return;
  }
  for (std::uint32_t first = 1; first + bands - 1 <= heads; ++first) {
    begun.push_back(first);
    divide(heads - first, bands - 1, begun, out);
    begun.pop_back();
  }
}

}  // namespace

std::vector<ulysses::BenchmarkVariant> candidates(const SearchSpace& space) {
  const auto ranks = static_cast<std::uint32_t>(space.shape.tokens.size());
  const std::uint32_t heads = space.shape.heads / ranks;
  std::vector<Schedule> schedules;
  for (std::uint32_t bands = 2; bands <= std::min(heads, space.max_bands); ++bands) {
    Schedule begun;
    divide(heads, bands, begun, schedules);
  }
  std::vector<ulysses::BenchmarkVariant> out;
  const auto add = [&](StrategyKind strategy, ulysses::Transport transport, Schedule schedule) {
    ulysses::BenchmarkVariant& variant = out.emplace_back();
    variant.options = space.common;
    variant.options.strategy = strategy;
    variant.options.slots = 0;
    variant.options.transport = transport;
    variant.schedule = std::move(schedule);
  };
  for (const StrategyKind strategy : {StrategyKind::kOrdinary, StrategyKind::kWholeFused}) {
    for (const ulysses::Transport transport : space.transports) add(strategy, transport, {});
  }
  for (const StrategyKind strategy :
       {StrategyKind::kChunkSequential, StrategyKind::kChunkOverlap}) {
    for (const Schedule& schedule : schedules) {
      for (const ulysses::Transport transport : space.transports) {
        add(strategy, transport, schedule);
      }
    }
  }
  return out;
}

}  // namespace syncopate::experiments
