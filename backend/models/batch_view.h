// How a kernel reads an input block: with every index clamped, since in a racy run the block holds
// garbage and the kernel must still stay inside its memory.
#pragma once

#include <cstdint>

#include "backend/models/batch_layout.h"
#include "backend/models/host_device.h"
#include "backend/models/row_sampling.h"

namespace syncopate::models {

/// A read-only view of an input block in memory that the caller can reach. Trivially copyable.
/// Every accessor returns a value inside its range whatever the block holds: rows() <= limits.rows,
/// token ranges inside [0, tokens()), kv_entry() inside the pool, id() in [0, vocab), sampling() as
/// RowSampling says.
class BatchView {
 public:
  /// Made on the host, also for a block in device memory, and handed to a kernel by value.
  BatchView(const std::int32_t* block, const BatchLayout& layout)
      : block_(block),
        limits_(layout.limits()),
        row_start_(layout.row_start()),
        kv_length_(layout.kv_length()),
        carry_(layout.carry()),
        ids_(layout.ids()),
        positions_(layout.positions()),
        block_table_(layout.block_table()),
        sampling_(layout.sampling()) {}

  SYNCOPATE_HOST_DEVICE std::uint32_t rows() const {
    return clamp(block_[BatchLayout::kRows], 0, limits_.rows);
  }
  SYNCOPATE_HOST_DEVICE std::uint32_t tokens() const {
    return clamp(block_[BatchLayout::kTokens], 0, limits_.tokens);
  }
  /// First token of row r, r <= rows().
  SYNCOPATE_HOST_DEVICE std::uint32_t row_start(std::uint32_t row) const {
    return clamp(block_[row_start_ + row], 0, tokens());
  }
  /// One past the last token of row r; never before its first.
  SYNCOPATE_HOST_DEVICE std::uint32_t row_end(std::uint32_t row) const {
    const std::uint32_t begin = row_start(row);
    const std::uint32_t end = row_start(row + 1);
    return end < begin ? begin : end;
  }
  SYNCOPATE_HOST_DEVICE std::uint32_t kv_length(std::uint32_t row) const {
    return clamp(block_[kv_length_ + row], 0, limits_.pages_per_row * limits_.page_tokens);
  }
  /// Row of the previous step's output to take the id from, or -1.
  SYNCOPATE_HOST_DEVICE std::int32_t carry(std::uint32_t row) const {
    const std::int32_t from = block_[carry_ + row];
    return from < 0 ? -1 : static_cast<std::int32_t>(clamp(from, 0, limits_.rows - 1));
  }
  SYNCOPATE_HOST_DEVICE std::uint32_t id(std::uint32_t token, std::uint32_t vocab) const {
    return clamp(block_[ids_ + token], 0, vocab - 1);
  }
  SYNCOPATE_HOST_DEVICE std::uint32_t position(std::uint32_t token) const {
    return clamp(block_[positions_ + token], 0, limits_.pages_per_row * limits_.page_tokens - 1);
  }
  /// The index-th page of row r, index < pages_per_row.
  SYNCOPATE_HOST_DEVICE std::uint32_t page(std::uint32_t row, std::uint32_t index) const {
    return clamp(block_[block_table_ + row * limits_.pages_per_row + index], 0, limits_.pages - 1);
  }
  /// The KV entry of position p of row r, as an index over the whole pool (page * page_tokens +
  /// place).
  SYNCOPATE_HOST_DEVICE std::uint64_t kv_entry(std::uint32_t row, std::uint32_t position) const {
    return std::uint64_t{page(row, position / limits_.page_tokens)} * limits_.page_tokens +
           position % limits_.page_tokens;
  }
  /// How row r's next token is chosen (encode() in sampling.h says what stands where).
  SYNCOPATE_HOST_DEVICE RowSampling sampling(std::uint32_t row) const {
    constexpr std::uint32_t kOne = RowSampling::kOne;
    const std::int32_t* words = block_ + sampling_ + row * kSamplingWords;
    const auto penalty = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[4]) + kOne);
    return {.temperature = clamp(words[0], 0, RowSampling::kMaxTemperature),
            .top_k = clamp(words[1], 0, INT32_MAX),
            .top_p = kOne - clamp(words[2], 0, kOne - 1),
            .min_p = clamp(words[3], 0, kOne),
            .penalty = clamp(penalty, 1, RowSampling::kMaxPenalty),
            .seed = std::uint64_t{static_cast<std::uint32_t>(words[6])} << 32 |
                    static_cast<std::uint32_t>(words[5])};
  }

 private:
  SYNCOPATE_HOST_DEVICE static std::uint32_t clamp(std::int32_t value, std::uint32_t low,
                                                   std::uint32_t high) {
    if (value < 0 || static_cast<std::uint32_t>(value) < low) return low;
    return static_cast<std::uint32_t>(value) > high ? high : static_cast<std::uint32_t>(value);
  }

  const std::int32_t* block_;
  BatchLimits limits_;
  std::uint32_t row_start_, kv_length_, carry_, ids_, positions_, block_table_, sampling_;
};

}  // namespace syncopate::models
