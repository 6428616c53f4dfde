// The search for the fastest pass: all that could be run is run in virtual time, and the reasons
// are read off what wins and what loses.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "backend/ulysses/benchmark/benchmark.h"
#include "experiments/search/candidates.h"
#include "experiments/search/virtual_pass.h"
#include "sim/profile.h"

namespace syncopate::experiments {

struct Contender {
  ulysses::BenchmarkVariant variant;
  PassFigures figures;
};

struct SearchResult {
  std::string profile;
  std::size_t compared = 0;
  bool overlaps = false;                ///< Whether the fastest of all is the overlapped one.
  Contender plain;                      ///< The fastest without overlap.
  std::optional<Contender> overlapped;  ///< The fastest with it; none where there is one head.

  const Contender& best() const { return overlaps ? *overlapped : plain; }
  const Contender* loser() const;  ///< The other one, if there is one.
};

/// Called with how many of how many passes have run.
using OnCompared = std::function<void(std::size_t done, std::size_t all)>;

/// The fastest of candidates(space) on a machine of `profile`; among equals the first, which is the
/// simplest. Throws what the benchmark does.
SearchResult search(const SearchSpace& space, const sim::HardwareProfile& profile,
                    const OnCompared& on_compared = {});

/// The transports of which the profile says what they take; peer is always one.
std::vector<ulysses::Transport> described_transports(const sim::HardwareProfile& profile);

/// What was found and why, in a few lines without a newline at the end.
std::string explain(const SearchResult& found);

}  // namespace syncopate::experiments
