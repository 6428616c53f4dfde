// Attention: what a pass needs of it. The pass knows nothing of how it is computed; attention knows
// nothing of ranks, slots or streams.
#pragma once

#include <cstdint>

#include "backend/runtime/cost.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

/// The attention of one band at one rank: softmax(q k^T / sqrt(head_dim)) v, head by head, over the
/// whole sequence. All tensors are dense: q and output [batch, tokens, query_heads, head_dim], k
/// and v [batch, tokens, kv_heads, head_dim].
struct AttentionBand {
  std::uint32_t batch = 0;
  std::uint32_t tokens = 0;
  std::uint32_t query_heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  ElementType type = ElementType::kBf16;
  /// GQA: query head i reads K/V head (lead + i) / group. A band may begin inside of a group.
  std::uint32_t group = 1;
  std::uint32_t lead = 0;
  bool causal = false;  ///< Token t attends to tokens 0..t; otherwise to all.

  // Where they begin, in bytes: from the slot's start, the output from its buffer's.
  std::uint64_t q = 0, k = 0, v = 0, output = 0;
};

AttentionBand attention_band(const HeadChunkLayout& layout, std::uint32_t rank, std::uint32_t band,
                             bool causal);

/// In heads' vectors: rows are query heads, tokens query vectors, kv_tokens K/V vectors, pairs
/// those of a query and a key, all summed over the batch.
runtime::Cost attention_cost(const AttentionBand& band);

struct AttentionBuffers {
  runtime::Buffer inputs;
  std::uint64_t slot = 0;  ///< Where the slot begins in `inputs`, in bytes.
  runtime::Buffer output;
  runtime::Buffer scratch = {};  ///< What prepare() asked for; none where that was nothing.
};

/// Immutable once made; safe to use from any thread. Kernels hold a pointer to what they were made
/// of, which must outlive the run.
class Attention {
 public:
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;
  virtual ~Attention() = default;

  virtual const char* kind() const = 0;  ///< "host" or "device".
  /// Throws UlyssesError kUnsupported for a band that it cannot compute.
  virtual void check(const AttentionBand& band) const = 0;
  /// Makes all that the band's kernel needs on `device`: before the run, from one thread. Returns
  /// the bytes of scratch memory that it uses while it runs. Throws UlyssesError kUnsupported.
  virtual std::uint64_t prepare(const AttentionBand& /*band*/, runtime::Device /*device*/) const {
    return 0;
  }
  /// Reads q, k and v and writes the band's output; touches nothing else. No allocation.
  virtual runtime::Kernel kernel(const AttentionBand& band,
                                 const AttentionBuffers& buffers) const = 0;

 protected:
  Attention() = default;
};

}  // namespace syncopate::ulysses
