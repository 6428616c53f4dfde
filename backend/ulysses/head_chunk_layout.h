// HeadChunkLayout: which bytes go where in a head-chunked Ulysses pass. Pure arithmetic.
//
// Ulysses sequence parallelism (Jacobs et al.: "DeepSpeed Ulysses", 2023) over W ranks: rank r
// holds S_r tokens of all H heads. A scatter gives every rank the whole sequence of its H/W local
// heads, attention runs there, a gather takes the result back. A *schedule* cuts the local heads
// into *bands*, so that the scatter of one band, the attention of another and the gather of a third
// can run at once. A band is cut out of every rank's own slice: band [offset, offset + count) is
// global heads dest * H/W + offset … of each destination.
//
// Tensors are [batch, token, head, dim], dense. What a band's scatter leaves at a destination is
// three separate dense tensors, Q [B, S, HC, D], K and V [B, S, KC, D], one behind the other in a
// *slot*. Not one [B, S, HC, 3D]: there each head's rows would be cut to D elements (256 bytes at
// bf16), where HC * D keep a copy engine at full speed, and K and V could not have fewer heads than
// Q. Kernels of attention take three strided views either way; dense ones are the easy case.
//
// GQA: each K/V head serves H/KV query heads. A band takes the K/V heads that its query heads read,
// whatever the sizes: with fewer K/V heads than ranks they are replicated, and a K/V head whose
// query heads lie in several bands travels once for each (`explain` tells).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/runtime/memory.h"
#include "backend/ulysses/element_type.h"

namespace syncopate::ulysses {

enum class Tensor : std::uint8_t { kQ, kK, kV, kOutput };
const char* to_string(Tensor tensor);

/// Of a rank's q, k, v or output.
struct TensorShape {
  std::uint32_t batch = 0;
  std::uint32_t tokens = 0;
  std::uint32_t heads = 0;
  std::uint32_t head_dim = 0;
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

struct LayoutOptions {
  std::uint32_t batch = 1;
  std::vector<std::uint32_t> tokens;  ///< S_r of each rank; their number is W. Some may be 0.
  std::uint32_t heads = 0;            ///< Query heads, of all ranks.
  std::uint32_t kv_heads = 0;         ///< K/V heads, of all ranks; divides `heads`.
  std::uint32_t head_dim = 0;
  ElementType type = ElementType::kBf16;
  std::vector<std::uint32_t> schedule;  ///< Heads of each band; they add up to heads / W.
};

/// `total` tokens over `ranks` as evenly as can be, the first ranks taking what is left over.
std::vector<std::uint32_t> split_evenly(std::uint32_t total, std::uint32_t ranks);

struct HeadRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// One copy, in bytes from the starts of its two tensors' memory: the buffers are the caller's.
/// Both regions have the same rows and width; no rows where a rank holds no tokens.
struct Move {
  runtime::Region from, to;

  Move between(runtime::Buffer source, runtime::Buffer destination) const {
    Move bound = *this;
    bound.from.buffer = source;
    bound.to.buffer = destination;
    return bound;
  }
};

/// Bytes that one rank sends to others in a pass.
struct Traffic {
  std::uint64_t qkv = 0;
  std::uint64_t output = 0;
};

/// Immutable; safe to use from any thread. No call but the constructor, whole() and explain()
/// allocates.
class HeadChunkLayout {
 public:
  /// Where dense tensors begin in a slot: what vector loads and copy engines like.
  static constexpr std::uint64_t kAlignment = 256;

  /// Throws UlyssesError: kEmpty, kHeadsNotDivisible, kKvHeadsDoNotDivide, kSequenceSplit,
  /// kEmptyBand, kBandPastLocalHeads, kScheduleIncomplete, kTooLarge.
  explicit HeadChunkLayout(LayoutOptions options);

  /// The same sizes with one band of all local heads: scatter() is then the unchunked
  /// scatter_heads, gather() gather_heads.
  HeadChunkLayout whole() const;

  const LayoutOptions& options() const { return options_; }
  std::uint32_t world() const { return static_cast<std::uint32_t>(options_.tokens.size()); }
  std::uint32_t bands() const { return static_cast<std::uint32_t>(options_.schedule.size()); }
  std::uint32_t local_heads() const { return options_.heads / world(); }
  std::uint32_t query_heads_per_kv_head() const { return options_.heads / options_.kv_heads; }
  std::uint32_t tokens(std::uint32_t rank) const { return options_.tokens[rank]; }
  std::uint32_t all_tokens() const { return first_token_.back(); }

  /// The shape that a rank's tensor must have.
  TensorShape shape(Tensor tensor, std::uint32_t rank) const;
  std::uint64_t bytes(Tensor tensor, std::uint32_t rank) const;
  /// Throws UlyssesError kShape when `given` is another.
  void check(Tensor tensor, std::uint32_t rank, const TensorShape& given) const;

  /// The global heads of `tensor` that `rank` has in `band`. Throws UlyssesError kNoSuchBand for a
  /// band or rank that there is not; so do all below that take one.
  HeadRange heads(Tensor tensor, std::uint32_t rank, std::uint32_t band) const;

  /// Where q, k or v of a band lie in a slot of `rank`, as one dense range. kOutput: where the
  /// band's attention, [B, S, HC, D], lies among those of all bands.
  runtime::Region landing(Tensor tensor, std::uint32_t rank, std::uint32_t band) const;
  /// Bytes of a slot of `rank`, which holds any of its bands.
  std::uint64_t slot_bytes(std::uint32_t rank) const { return slot_bytes_[rank]; }
  /// Bytes of the attention of all bands of a rank.
  std::uint64_t attended_bytes() const { return attended_offset_.back(); }

  /// q, k or v of `source` to a slot of `destination`, for one batch entry: heads of a band, all of
  /// the source's tokens. `from` is in the source's tensor, `to` in the slot.
  Move scatter(Tensor tensor, std::uint32_t source, std::uint32_t destination, std::uint32_t band,
               std::uint32_t batch) const;
  /// The way back: what `source` computed for the tokens of `destination`. `from` is in what
  /// attended_bytes() counts, `to` in the destination's output.
  Move gather(std::uint32_t source, std::uint32_t destination, std::uint32_t band,
              std::uint32_t batch) const;

  Traffic traffic(std::uint32_t rank) const;

  /// The layout in words: sizes, bands with their heads, what travels, and K/V heads that travel
  /// more than once.
  std::string explain() const;

 private:
  void check_place(std::uint32_t rank, std::uint32_t band) const;

  LayoutOptions options_;
  std::vector<std::uint32_t> first_token_;      // by rank; last: of all
  std::vector<std::uint32_t> first_head_;       // by band, within the local heads
  std::vector<std::uint64_t> slot_bytes_;       // by rank
  std::vector<std::uint64_t> attended_offset_;  // by band; last: the end
};

}  // namespace syncopate::ulysses
