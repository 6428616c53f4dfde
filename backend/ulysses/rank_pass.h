// Puts one rank's device work of a pass on streams: scatters, attention, gathers. What waits for
// what is a Strategy's business.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/host.h"
#include "backend/ulysses/attention.h"
#include "backend/ulysses/communicator.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

/// How a rank's workspace is divided: band b lands in slot b mod `count`.
struct Slots {
  std::uint32_t count = 1;  ///< At least 1; the same for all ranks.
  /// Whether a scatter must wait until its slot has been read. Not where what the pass waits for
  /// anyway says so: with a slot for each band, or with all in one stream, a scatter comes behind
  /// gathers of every rank, and those behind the attention that read the slot.
  bool guarded = true;
};

/// The buffers of one rank. `workspace` is written by other ranks' scatters.
struct RankBuffers {
  runtime::Buffer q, k, v;
  runtime::Buffer workspace;     ///< Slots for Q, K and V of whole sequences.
  runtime::Buffer attended;      ///< The attention of all bands.
  runtime::Buffer scratch = {};  ///< What attention asks for; may be none.
  std::uint64_t scratch_bytes = 0;
};

/// Each pass takes every band through scatter, attend and gather, in the order of the bands; bands
/// may be at different stages. Not thread-safe: used by its rank's host.
class RankPass {
 public:
  /// The rank's ends of the communicators that scatter and gather. All references must outlive it.
  RankPass(const HeadChunkLayout& layout, const Attention& attention, bool causal,
           std::uint32_t rank, const RankBuffers& buffers, const Slots& slots,
           std::unique_ptr<Communicator> inputs, std::unique_ptr<Communicator> outputs);
  RankPass(const RankPass&) = delete;
  RankPass& operator=(const RankPass&) = delete;

  std::uint32_t bands() const { return layout_.bands(); }
  /// Bands whose scatter may be enqueued before the attention of the first of them is.
  std::uint32_t slots() const { return static_cast<std::uint32_t>(last_.size()); }

  /// Takes Q, K and V of a band to the next slot: in one collective, or in one for each of them.
  /// What comes behind it in `stream` finds the parts of all ranks.
  void scatter(runtime::Host& host, runtime::Stream stream, std::uint32_t band);
  void scatter_one_by_one(runtime::Host& host, runtime::Stream stream, std::uint32_t band);
  /// The band's attention, which frees its slot.
  void attend(runtime::Host& host, runtime::Stream stream, std::uint32_t band);
  /// Takes the band's attention to the outputs of all ranks. What comes behind it in `stream` finds
  /// the band of all ranks in this rank's output.
  void gather(runtime::Host& host, runtime::Stream stream, std::uint32_t band);

 private:
  struct Band {
    AttentionBand attention;
    runtime::Region q, k, v, output;  // in a slot; in `attended`
    Ticket ticket = 0;                // its newest scatter
  };

  Slot slot_of(std::uint32_t band) const;
  void landed(std::uint32_t band, Ticket ticket);

  const HeadChunkLayout& layout_;
  const Attention& attention_;
  RankBuffers buffers_;
  std::uint64_t slot_bytes_;
  std::unique_ptr<Communicator> inputs_;
  std::unique_ptr<Communicator> outputs_;
  std::vector<Band> bands_;
  std::vector<Ticket> last_;  // by slot: the last collective that landed there
  bool guarded_;
};

}  // namespace syncopate::ulysses
