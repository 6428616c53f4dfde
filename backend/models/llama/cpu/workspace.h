// The scratch memory of a forward pass.
#pragma once

#include <cstdint>

#include "backend/models/batch_layout.h"
#include "backend/models/llama/config.h"

namespace syncopate::models::llama {

/// Offsets, in floats, of the matrices that a step passes through. Every token has a row, used or
/// not. A step leaves its `logits` in place for who wants to look.
class WorkspaceLayout {
 public:
  WorkspaceLayout(const LlamaConfig& c, const BatchLimits& limits) : tokens_(limits.tokens) {
    residual = per_token(c.hidden);
    normed = per_token(c.hidden);
    qkv = per_token(c.qkv_size());
    mixed = per_token(c.query_size());
    gate_up = per_token(2 * c.intermediate);
    activated = per_token(c.intermediate);
    cosines = per_token(c.head_dim / 2);
    sines = per_token(c.head_dim / 2);
    last = take(std::uint64_t{limits.rows} * c.hidden);
    logits = take(std::uint64_t{limits.rows} * c.vocab);
    scores = take(c.vocab);
    weights = take(c.vocab);
    ranking = take(c.vocab);
  }

  std::uint64_t residual;        ///< [tokens, hidden]
  std::uint64_t normed;          ///< [tokens, hidden]
  std::uint64_t qkv;             ///< [tokens, query | key | value]
  std::uint64_t mixed;           ///< [tokens, query]: attention's output
  std::uint64_t gate_up;         ///< [tokens, gate | up]
  std::uint64_t activated;       ///< [tokens, intermediate]
  std::uint64_t cosines, sines;  ///< [tokens, head_dim / 2]
  std::uint64_t last;            ///< [rows, hidden]: each row's last token
  std::uint64_t logits;          ///< [rows, vocab]
  /// [vocab] each: SamplerScratch, of one row at a time.
  std::uint64_t scores, weights, ranking;
  std::uint64_t floats() const { return floats_; }

 private:
  std::uint64_t per_token(std::uint64_t width) { return take(tokens_ * width); }
  std::uint64_t take(std::uint64_t floats) {
    constexpr std::uint64_t kLine = 16;  // Floats of a cache line: each matrix begins at one.
    const std::uint64_t begin = floats_;
    floats_ += (floats + kLine - 1) / kLine * kLine;
    return begin;
  }

  std::uint64_t tokens_;
  std::uint64_t floats_ = 0;
};

}  // namespace syncopate::models::llama
