// The ways to run a workload that must all give the same tokens, and a machine in virtual time on
// which they differ in everything else.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backend/batching/batcher.h"
#include "sim/profile.h"

namespace syncopate::batching {

struct Variant {
  const char* name;
  BatcherOptions options;
};

inline std::vector<Variant> variants() {
  const auto options = [](StrategyKind kind, std::uint32_t slots, bool graphs) {
    BatcherOptions made;
    made.strategy = kind;
    made.slots = slots;
    made.graphs = graphs;
    return made;
  };
  BatcherOptions stalled = options(StrategyKind::kAsync, 2, true);
  stalled.streams = {.blocking = true, .d2h_on_default = true};
  stalled.host_memory = runtime::Memory::kPageable;
  BatcherOptions stray = options(StrategyKind::kOrdered, 1, false);
  stray.streams.d2h_on_default = true;
  return {{"default_stream", options(StrategyKind::kDefaultStream, 1, false)},
          {"default_stream, graphs", options(StrategyKind::kDefaultStream, 1, true)},
          {"ordered", options(StrategyKind::kOrdered, 1, false)},
          {"ordered, graphs", options(StrategyKind::kOrdered, 1, true)},
          {"async, 2 slots", options(StrategyKind::kAsync, 2, false)},
          {"async, 2 slots, graphs", options(StrategyKind::kAsync, 2, true)},
          {"async, 3 slots, graphs", options(StrategyKind::kAsync, 3, true)},
          {"async, 2 slots, graphs, pageable, a copy on the default stream that blocks", stalled},
          {"ordered, a copy on the default stream", stray}};
}

inline sim::HardwareProfile small_machine() {
  sim::HardwareProfile profile;
  profile.host.kernel_launch_us = 3;
  profile.host.graph_launch_us = 2;
  profile.host.copy_us = 1;
  profile.launch.latency_us = 4;
  profile.kernel(runtime::Work::kForward).base_us = 50;
  profile.kernel(runtime::Work::kForward).per_token_us = 2;
  profile.kernel(runtime::Work::kCarry).base_us = 3;
  profile.span(runtime::Work::kPrepare).base_us = 20;
  profile.span(runtime::Work::kUpdate).base_us = 10;
  profile.h2d = profile.d2h = {5, 10};
  return profile;
}

/// How many random workloads: `scripts/test --seeds N` becomes this.
inline std::uint64_t seeds(std::uint64_t standard) {
  const char* given = std::getenv("SYNCOPATE_SEEDS");
  return given == nullptr ? standard : std::strtoull(given, nullptr, 10);
}

}  // namespace syncopate::batching
