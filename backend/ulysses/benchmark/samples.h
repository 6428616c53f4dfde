// What a benchmark measured, read from its timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/runtime/timeline.h"
#include "backend/ulysses/benchmark/rotation.h"

namespace syncopate::ulysses {

/// One step at one rank.
struct Sample {
  std::size_t step = 0;
  std::uint32_t rank = 0;
  runtime::Nanos time = 0;     ///< In the caller's stream, from mark to mark.
  runtime::Nanos enqueue = 0;  ///< Of the host, from the one mark's call to the other's.
};

/// Steps whose marks have times at every one of the timeline's hosts, in their order, warm-ups too;
/// of each the ranks in theirs. Those of a run that was interrupted end at the first that is not
/// whole.
std::vector<Sample> samples(const runtime::Timeline& timeline, const Rotation& rotation);

}  // namespace syncopate::ulysses
