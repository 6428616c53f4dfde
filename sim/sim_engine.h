// The engine of virtual time: a discrete-event model of hosts, streams, copy engines and kernels
// that share a device. Same profile, options and program: the same bytes, on any machine.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/runtime/engine.h"
#include "sim/profile.h"

namespace syncopate::sim {

struct SimOptions {
  /// Run host bodies and keep device memory: inputs are taken when an operation starts, outputs
  /// appear when it ends, and what lands on the ranges of a running operation spoils its outputs.
  /// Off: times only, at full speed; device buffers have no memory.
  bool effects = true;
  /// Of jitter and chaos.
  std::uint64_t seed = 0;
  /// Durations of kernels, copies and host spans are drawn between 1 us and 5 ms, about evenly in
  /// their logarithm, whatever the profile says: what is ordered only by luck comes apart.
  bool chaos = false;
};

/// Makes an engine of `devices` devices with one host each. Throws UsageError on a profile whose
/// numbers have no meaning (negative, demands above 1, no throughput).
///
/// Hosts run one at a time, the one with the least clock first (ties by id): their code needs no
/// locks against each other. A single host runs on the thread that calls run().
std::unique_ptr<runtime::Engine> make_sim_engine(const HardwareProfile& profile,
                                                 const SimOptions& options, int devices);

}  // namespace syncopate::sim
