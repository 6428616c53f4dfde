// Communicators: what moves bands between ranks, behind one interface. How they do it is a
// transport: copies straight into peers' memory (peer_communicator.h), or packed kernels and a
// collective (packed_communicator.h).
//
// Collectives are numbered: a *ticket* counts those of a communicator from 1, the same for all
// ranks, which must begin the same ones in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

using Ticket = std::uint64_t;

/// The names of what orders it: those of the free flags where scatters use it, the last four where
/// a rank's own part takes a stream of its own.
struct CommunicatorSites {
  runtime::Site signal_arrived = "", wait_arrived = "", signal_free = "", wait_free = "";
  runtime::Site record_begun = "", wait_begun = "", record_own = "", wait_own = "";
};

/// Memory of one rank that collectives land in: a workspace for scatters, outputs for gathers.
struct Landing {
  runtime::Buffer buffer;
  std::uint64_t bytes = 0;
};

/// Where a scatter lands: the same slot of every rank's workspace.
struct Slot {
  std::uint32_t index = 0;
  Ticket last = 0;  ///< The last collective that landed there, to wait for; 0: none.
};

class Communicator;

/// What the ranks of a communicator share. Immutable once made, before the run.
class CommunicatorGroup {
 public:
  CommunicatorGroup(const CommunicatorGroup&) = delete;
  CommunicatorGroup& operator=(const CommunicatorGroup&) = delete;
  virtual ~CommunicatorGroup() = default;

  const HeadChunkLayout& layout() const { return layout_; }
  std::uint32_t world() const { return layout_.world(); }
  const Landing& landing(std::uint32_t rank) const { return landings_[rank]; }
  const CommunicatorSites& sites() const { return sites_; }
  /// Memory of a rank that the transport needs for itself.
  virtual std::uint64_t staging_bytes(std::uint32_t /*rank*/) const { return 0; }
  /// A rank's end. The group must outlive it.
  virtual std::unique_ptr<Communicator> make_end(std::uint32_t rank) const = 0;

 protected:
  /// `layout` must outlive it. One landing a rank, on the device of its number.
  CommunicatorGroup(const HeadChunkLayout& layout, std::vector<Landing> landings,
                    const CommunicatorSites& sites);

 private:
  const HeadChunkLayout& layout_;
  std::vector<Landing> landings_;
  CommunicatorSites sites_;
};

/// One rank's end of a communicator. Collectives only enqueue; they return at once and never
/// allocate. Not thread-safe: each is used by its rank's host.
///
/// At most one collective is in flight: from its call to finish(). Both are put into the same
/// stream; what comes behind finish() in that stream finds the data. A communicator's next
/// collective must come behind it as well: in the same stream, or in one that waits for it.
class Communicator {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  // Each begins a collective and returns its ticket. Throws UlyssesError kCollectiveInFlight,
  // kNoSuchBand, kWorkspaceTooSmall (by the memory of any rank). Scatters wait until the slot's
  // last ticket has been freed wherever they write.

  /// A band of q, k or v (`x`) alone; of a layout's one band, all heads.
  Ticket scatter_heads(runtime::Host& host, runtime::Stream stream, std::uint32_t band,
                       Tensor tensor, runtime::Buffer x, const Slot& slot);
  /// Q, K and V of a band at once.
  Ticket scatter_qkv_head_chunk(runtime::Host& host, runtime::Stream stream, std::uint32_t band,
                                runtime::Buffer q, runtime::Buffer k, runtime::Buffer v,
                                const Slot& slot);
  /// A band of `attended`, which has the layout's attended_bytes(), into every rank's output;
  /// touches the band's heads only. Waits for no flag: a band's attention has come after its
  /// scatter from every rank, and that after all that the rank's caller still had to do with its
  /// output.
  Ticket gather_output_head_chunk(runtime::Host& host, runtime::Stream stream, std::uint32_t band,
                                  runtime::Buffer attended);

  /// Holds the collective's stream until every other rank's part has landed here.
  /// Throws UlyssesError kCollectiveInFlight when there is none.
  void finish(runtime::Host& host);

  /// When `stream` gets here, what landed at this rank up to `ticket` may be overwritten. For each
  /// ticket that a later slot waits for, and no other.
  virtual void release(runtime::Host& host, runtime::Stream stream, Ticket ticket) = 0;

 protected:
  /// A tensor that is scattered.
  struct Part {
    Tensor tensor;
    runtime::Buffer x;
  };

  Communicator(const CommunicatorGroup& group, std::uint32_t rank) : group_(group), rank_(rank) {}

  std::uint32_t rank() const { return rank_; }
  /// Of the collective in flight.
  Ticket ticket() const { return ticket_; }
  runtime::Stream stream() const { return stream_; }

  virtual void scatter(runtime::Host& host, std::uint32_t band, std::span<const Part> parts,
                       const Slot& slot) = 0;
  virtual void gather(runtime::Host& host, std::uint32_t band, runtime::Buffer attended) = 0;
  virtual void arrive(runtime::Host& host) = 0;

 private:
  Ticket begin_scatter(runtime::Host& host, runtime::Stream stream, std::uint32_t band,
                       std::span<const Part> parts, const Slot& slot);
  void check_begin() const;
  void check_landing(std::uint32_t rank, std::uint64_t needed) const;
  Ticket begin(runtime::Stream stream);

  const CommunicatorGroup& group_;
  std::uint32_t rank_;
  Ticket ticket_ = 0;       // of the last collective begun
  bool in_flight_ = false;  // not finished
  runtime::Stream stream_;  // that it is in
};

}  // namespace syncopate::ulysses
