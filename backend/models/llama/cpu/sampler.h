// The choice of a row's next token from its logits, in floating point: each row by itself and in
// one order, so that a row's choice does not depend on its batch-mates.
#pragma once

#include <cstdint>

#include "backend/models/history.h"
#include "backend/models/row_sampling.h"

namespace syncopate::models::llama {

/// The ids so far: the first `length` positions of a row.
struct RowHistory {
  const HistoryView& ids;
  std::uint32_t row;
  /// The row's kv_length, which is also the position of the token to choose.
  std::uint32_t length;
};

/// Memory for one row: `vocab` elements each, rounded up to whole vectors (kLanes).
struct SamplerScratch {
  float* scores;
  float* weights;
  std::uint32_t* ranking;
};

/// The next id (Sampling in sampling.h says by what rules), with random_bits of the position.
/// Leaves `logits` as they are. A NaN counts as the least logit.
std::int32_t choose(const float* logits, std::uint32_t vocab, const RowSampling& sampling,
                    const RowHistory& history, const SamplerScratch& scratch);

}  // namespace syncopate::models::llama
