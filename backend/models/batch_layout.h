// The ragged batch as the device sees it: one int32 block in, one out.
#pragma once

#include <cstdint>

#include "backend/models/sampling.h"

namespace syncopate::models {

/// Bounds of one step. All positive.
struct BatchLimits {
  std::uint32_t rows = 0;           ///< Requests in a batch.
  std::uint32_t tokens = 0;         ///< Tokens in a batch.
  std::uint32_t pages_per_row = 0;  ///< Block-table width: pages that one request may hold.
  std::uint32_t page_tokens = 0;    ///< KV entries per page.
  std::uint32_t pages = 0;          ///< Pages in the KV pool.
};

/// Offsets, in int32 words, of a step's input block. The block is copied to the device in one H2D
/// copy; its order puts what a decode step changes first.
///
///   rows, tokens           how much of what follows is in use
///   row_start[rows + 1]    first token of each row; row r computes [row_start[r], row_start[r+1])
///   kv_length[rows]        KV entries of the row once this step's tokens are written
///   carry[rows]            row of the previous step whose sampled id replaces the id of this row's
///                          last token; -1: the id given by the host stands
///   ids[tokens]            token ids, prompt or sampled
///   positions[tokens]      position of each token in its request, from 0
///   block_table[rows][pages_per_row]   the pages of each row, in order
///   sampling[rows][kSamplingWords]     how each row's next token is chosen
///
/// The token at position p of row r has its KV entry in page block_table[r][p / page_tokens], at
/// place p % page_tokens. The output block holds one sampled id a row: next_id[rows].
class BatchLayout {
 public:
  explicit BatchLayout(const BatchLimits& limits)
      : limits_(limits),
        row_start_(2),
        kv_length_(row_start_ + limits.rows + 1),
        carry_(kv_length_ + limits.rows),
        ids_(carry_ + limits.rows),
        positions_(ids_ + limits.tokens),
        block_table_(positions_ + limits.tokens),
        sampling_(block_table_ + limits.rows * limits.pages_per_row),
        input_words_(sampling_ + limits.rows * kSamplingWords) {}

  const BatchLimits& limits() const { return limits_; }

  static constexpr std::uint32_t kRows = 0;
  static constexpr std::uint32_t kTokens = 1;
  std::uint32_t row_start() const { return row_start_; }
  std::uint32_t kv_length() const { return kv_length_; }
  std::uint32_t carry() const { return carry_; }
  std::uint32_t ids() const { return ids_; }
  std::uint32_t positions() const { return positions_; }
  std::uint32_t block_table() const { return block_table_; }
  std::uint32_t sampling() const { return sampling_; }
  std::uint32_t input_words() const { return input_words_; }
  std::uint32_t output_words() const { return limits_.rows; }

  std::uint64_t input_bytes() const { return std::uint64_t{input_words_} * 4; }
  std::uint64_t output_bytes() const { return std::uint64_t{output_words()} * 4; }

 private:
  BatchLimits limits_;
  std::uint32_t row_start_, kv_length_, carry_, ids_, positions_, block_table_, sampling_,
      input_words_;
};

}  // namespace syncopate::models
