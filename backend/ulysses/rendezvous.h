// Rendezvous: where the ranks' hosts come together.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"

namespace syncopate::ulysses {

/// Made before the run; each rank's host then uses its own part.
class Rendezvous {
 public:
  Rendezvous(runtime::Runtime& runtime, std::uint32_t ranks) : times_(ranks, Count{}) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) flags_.push_back(runtime.make_flag());
  }

  /// Blocks the host until every rank has come here as often, with all that its stream held by
  /// then done. What the host does next, and what it enqueues, comes after that. No stream is held
  /// meanwhile: what waits for a device to be idle (making a graph, freeing memory) finds it so,
  /// also where ranks share one.
  void meet(runtime::Host& host, runtime::Stream stream) {
    const std::uint32_t rank = host.device().id;
    const std::uint64_t time = ++times_[rank].count;
    host.signal(stream, flags_[rank], time, "rendezvous.signal");
    for (const runtime::Flag flag : flags_) host.synchronize(flag, time, "rendezvous.block");
  }

 private:
  struct alignas(64) Count {  // each host writes its own
    std::uint64_t count = 0;
  };
  std::vector<runtime::Flag> flags_;
  std::vector<Count> times_;
};

}  // namespace syncopate::ulysses
