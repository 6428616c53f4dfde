// Communicators over peer copies: each rank copies its rows straight into the other ranks' memory,
// as 2-D regions, from where they are to where they belong. There is nothing to pack or merge, and
// nothing runs but copy engines. Arrival is told by flags, never by a kernel: order across hosts
// needs no meeting, and a kernel that spins would wait for an SM that attention holds.
//
// Collectives are numbered: a *ticket* counts those of a communicator from 1, the same for all
// ranks, which must begin the same ones in the same order. Flags carry tickets and only grow.
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
#include <vector>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

using Ticket = std::uint64_t;

/// The names of what orders it; of the free flags where scatters use it.
struct CommunicatorSites {
  runtime::Site signal_arrived = "", wait_arrived = "", signal_free = "", wait_free = "";
  runtime::Site record_begun = "", wait_begun = "", record_own = "", wait_own = "";
};

/// Memory of one rank that collectives land in: a workspace for scatters, outputs for gathers.
struct Landing {
  runtime::Buffer buffer;
  std::uint64_t bytes = 0;
};

/// What takes a rank's own part beside the collective's stream.
struct OwnPart {
  runtime::Stream stream;
  runtime::Event begun, done;
};

/// What the ranks of a communicator share: their landing memory and flags. Immutable once made.
class CommunicatorGroup {
 public:
  /// One landing a rank, on the device of its number. `tickets` is the number of collectives in
  /// each pass. Makes flags, streams and events: before the run, from one thread.
  CommunicatorGroup(runtime::Runtime& runtime, std::vector<Landing> landings, std::uint64_t tickets,
                    const CommunicatorSites& sites);

  std::uint32_t world() const { return static_cast<std::uint32_t>(landings_.size()); }
  const Landing& landing(std::uint32_t rank) const { return landings_[rank]; }
  const CommunicatorSites& sites() const { return sites_; }
  const OwnPart& own(std::uint32_t rank) const { return own_[rank]; }
  runtime::Flag arrived(std::uint32_t destination, std::uint32_t source) const {
    return arrived_[destination * world() + source];
  }
  runtime::Flag free(std::uint32_t destination, std::uint32_t source) const {
    return free_[destination * world() + source];
  }

 private:
  std::vector<Landing> landings_;
  CommunicatorSites sites_;
  std::vector<runtime::Flag> arrived_;  // by destination, then source
  std::vector<runtime::Flag> free_;     // likewise
  std::vector<OwnPart> own_;            // by rank
};

/// Where a scatter lands: the same slot of every rank's workspace.
struct Slot {
  std::uint32_t index = 0;
  Ticket last = 0;  ///< The last collective that landed there, to wait for; 0: none.
};

/// One rank's end of a communicator. Collectives only enqueue; they return at once and never
/// allocate. Not thread-safe: each is used by its rank's host.
///
/// At most one collective is in flight: from its call to finish(). Both are put into the same
/// stream; what comes behind finish() in that stream finds the data. A communicator's next
/// collective must come behind it as well: in the same stream, or in one that waits for it.
class Communicator {
 public:
  /// `group` must outlive it.
  Communicator(const CommunicatorGroup& group, std::uint32_t rank) : group_(group), rank_(rank) {}

  // Each begins a collective and returns its ticket. Throws UlyssesError kCollectiveInFlight,
  // kNoSuchBand, kWorkspaceTooSmall (by the memory of any rank). Scatters wait until every
  // destination has freed the slot's last ticket.

  /// A band of q, k or v (`x`) alone; of a layout's one band, all heads.
  Ticket scatter_heads(runtime::Host& host, runtime::Stream stream, const HeadChunkLayout& layout,
                       std::uint32_t band, Tensor tensor, runtime::Buffer x, const Slot& slot);
  /// Q, K and V of a band at once.
  Ticket scatter_qkv_head_chunk(runtime::Host& host, runtime::Stream stream,
                                const HeadChunkLayout& layout, std::uint32_t band,
                                runtime::Buffer q, runtime::Buffer k, runtime::Buffer v,
                                const Slot& slot);
  /// A band of `attended`, which has the layout's attended_bytes(), into every rank's output;
  /// touches the band's heads only. Waits for no one: a band's attention has come after its scatter
  /// from every rank, and that after all that the rank's caller still had to do with its output.
  Ticket gather_output_head_chunk(runtime::Host& host, runtime::Stream stream,
                                  const HeadChunkLayout& layout, std::uint32_t band,
                                  runtime::Buffer attended);

  /// Holds the collective's stream until every other rank's part has landed here.
  /// Throws UlyssesError kCollectiveInFlight when there is none.
  void finish(runtime::Host& host);

  /// When `stream` gets here, what landed at this rank up to `ticket` may be overwritten. For each
  /// ticket that a later slot waits for, and no other.
  void release(runtime::Host& host, runtime::Stream stream, Ticket ticket);

 private:
  template <class Copies>
  Ticket begin(runtime::Host& host, runtime::Stream stream, Ticket free_after, Copies&& copies);
  void check_begin() const;
  void check_scatter(const HeadChunkLayout& layout, std::uint32_t band, const Slot& slot) const;
  void check_landing(std::uint32_t rank, std::uint64_t needed) const;
  void copy_heads(runtime::Host& host, runtime::Stream stream, const HeadChunkLayout& layout,
                  Tensor tensor, runtime::Buffer x, std::uint32_t destination, std::uint32_t band,
                  const Slot& slot);

  const CommunicatorGroup& group_;
  std::uint32_t rank_;
  Ticket ticket_ = 0;       // of the last collective begun
  bool in_flight_ = false;  // not finished
  runtime::Stream stream_;  // that it is in
};

}  // namespace syncopate::ulysses
