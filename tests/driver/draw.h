// Cases: what the driver runs, drawn from one seed.
#pragma once

#include <cstdint>

#include "experiments/config/config.h"
#include "sim/profile.h"

namespace syncopate::driver {

/// A configuration that can be run as it stands, so that a failure can be replayed from its YAML,
/// and a second strategy to hold against it.
struct Case {
  std::uint64_t seed = 0;
  experiments::BatchingConfig config;       ///< In virtual time, asynchronous.
  experiments::StrategyConfig synchronous;  ///< Same requests, one step in flight.
  bool listens = false;                     ///< Whether a client is told each token.
  bool checks_races = false;
};

/// The same case for the same seed, on any machine. Some cases have requests that can never be
/// served; none has more than a dozen requests of a few dozen tokens, so that a thousand take a
/// second.
Case draw(std::uint64_t seed);

/// The machine of all cases, in virtual time. Most cases draw the duration of every operation
/// instead (chaos), and take from it the times of the host's calls alone.
sim::HardwareProfile machine();

}  // namespace syncopate::driver
