// What the packed transport copies, as lists of moves that are made once and serve every pass: all
// memory is bound but a caller's tensors and the slot, which come with the launch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/runtime/kernel.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

/// What a launch adds to its moves.
struct Given {
  std::array<runtime::Buffer, 3> tensors = {};  ///< q, k, v; or the attention, the first.
  std::uint32_t slot = 0;
};

struct PackedMove {
  static constexpr std::uint8_t kBound = UINT8_MAX;

  Move move;
  std::uint64_t slot_bytes = 0;  ///< `to` lies in a slot of this size; 0: it does not.
  std::uint8_t tensor = kBound;  ///< `from` lies in that one of Given::tensors.
  std::uint16_t peer = 0;        ///< Exchange: the rank that it goes to, or comes from.

  Move with(const Given& given) const {
    Move whole = move;
    if (tensor != kBound) whole.from.buffer = given.tensors[tensor];
    whole.to.offset += given.slot * slot_bytes;
    return whole;
  }
};
using PackedMoves = std::span<const PackedMove>;

/// A host body that copies them, one after the other. What `moves` names must outlive the run.
runtime::Body copy_rows(PackedMoves moves, const Given& given);

/// Bytes that they copy.
std::uint64_t bytes_of(PackedMoves moves);

/// Moves of a band, in the order of Q, K and V, of which a collective takes all or one. A gather's
/// are in the first part.
class PartedMoves {
 public:
  PackedMoves all() const { return moves_; }
  PackedMoves of(Tensor tensor) const {
    const auto part = static_cast<std::size_t>(tensor);
    return all().subspan(first_[part], first_[part + 1] - first_[part]);
  }
  /// Parts come in order. A move of nothing is left out.
  void add(Tensor tensor, const PackedMove& move);

 private:
  std::vector<PackedMove> moves_;
  std::array<std::size_t, 4> first_ = {};
};

/// One rank's part of a band's collective.
struct BandMoves {
  PartedMoves relayout;  ///< Before a scatter's exchange, behind a gather's.
  PartedMoves sends;     ///< To each other rank's memory; runs of bytes.
  PartedMoves receives;  ///< The sends of others to this rank.
};

enum class PackedUse : std::uint8_t {
  /// Each other rank's rows are packed into the rank's staging memory, from where they go straight
  /// into that rank's slot: there they lie together. The rank's own go into its own slot.
  kScatters,
  /// What goes to another rank lies together as it is. It goes into that rank's staging memory,
  /// which is merged into the band's columns of the output.
  kGathers,
};

/// The moves of all ranks and bands. Immutable.
class PackedPlan {
 public:
  /// By rank: where scatters land (slots) or gathers (outputs), and staging memory of
  /// staging_bytes(), which a plan of other staging memory says.
  PackedPlan(const HeadChunkLayout& layout, PackedUse use,
             std::span<const runtime::Buffer> landings, std::span<const runtime::Buffer> staging);

  const BandMoves& band(std::uint32_t rank, std::uint32_t band) const { return moves_[rank][band]; }
  std::uint64_t staging_bytes(std::uint32_t rank) const { return staging_bytes_[rank]; }

 private:
  void add_scatter(const HeadChunkLayout& layout, std::uint32_t band, std::uint32_t source,
                   std::span<const runtime::Buffer> slots,
                   std::span<const runtime::Buffer> staging);
  void add_gather(const HeadChunkLayout& layout, std::uint32_t band, std::uint32_t destination,
                  std::span<const runtime::Buffer> outputs,
                  std::span<const runtime::Buffer> staging);
  void use_staging(std::uint32_t rank, std::uint64_t bytes);

  std::vector<std::vector<BandMoves>> moves_;  // by rank, then band
  std::vector<std::uint64_t> staging_bytes_;   // by rank
};

}  // namespace syncopate::ulysses
