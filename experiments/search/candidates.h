// What a search compares: every way to run a pass.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/ulysses/benchmark/benchmark.h"

namespace syncopate::experiments {

struct SearchSpace {
  ulysses::LayoutOptions shape;  ///< Without a schedule.
  /// What all passes have in common; strategy, slots and transport are the search's.
  ulysses::UlyssesOptions common;
  std::vector<ulysses::Transport> transports;  ///< At least one.
  std::uint32_t max_bands = 3;
};

/// Every strategy over every transport, those that chunk with every schedule of at most `max_bands`
/// bands and at least two. In an order in which the simpler comes first: strategies as they are
/// numbered, fewer bands before more.
std::vector<ulysses::BenchmarkVariant> candidates(const SearchSpace& space);

}  // namespace syncopate::experiments
