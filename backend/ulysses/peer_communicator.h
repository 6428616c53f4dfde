// Communicators over peer copies: each rank copies its rows straight into the other ranks' memory,
// as 2-D regions, from where they are to where they belong. There is nothing to pack or merge, and
// nothing runs but copy engines. Arrival is told by flags, never by a kernel: order across hosts
// needs no meeting, and a kernel that spins would wait for an SM that attention holds.
//
// Flags carry tickets and only grow.
//   arrived[destination][source]  the source's part of that ticket has landed at the destination
//   free[destination][source]     what landed there up to that ticket has been read: the source may
//                                 write there again
// Each value is waited for once, so that a graph of a pass can be launched again and again
// (Runtime::make_flag).
//
// A rank's own part needs no link, but as many bytes as any other's: it takes a stream beside the
// collective's, so that the copy engine that it needs works while the links do.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/runtime.h"
#include "backend/ulysses/communicator.h"

namespace syncopate::ulysses {

/// What takes a rank's own part beside the collective's stream.
struct OwnPart {
  runtime::Stream stream;
  runtime::Event begun, done;
};

class PeerGroup final : public CommunicatorGroup {
 public:
  /// `layout` must outlive it. `tickets` is the number of collectives in each pass. Makes flags
  /// and events: before the run, from one thread.
  /// `own` are by rank the streams that take its own part.
  PeerGroup(runtime::Runtime& runtime, const HeadChunkLayout& layout, std::vector<Landing> landings,
            std::uint64_t tickets, const CommunicatorSites& sites,
            const std::vector<runtime::Stream>& own);

  std::unique_ptr<Communicator> make_end(std::uint32_t rank) const override;

  const OwnPart& own(std::uint32_t rank) const { return own_[rank]; }
  runtime::Flag arrived(std::uint32_t destination, std::uint32_t source) const {
    return arrived_[destination * world() + source];
  }
  runtime::Flag free(std::uint32_t destination, std::uint32_t source) const {
    return free_[destination * world() + source];
  }

 private:
  std::vector<runtime::Flag> arrived_;  // by destination, then source
  std::vector<runtime::Flag> free_;     // likewise
  std::vector<OwnPart> own_;            // by rank
};

}  // namespace syncopate::ulysses
