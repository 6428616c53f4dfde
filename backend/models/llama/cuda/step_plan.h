// What the kernels of a step need to know of its batch, worked out on the device from the input
// block: so one captured graph serves every batch of its padded size, and the host plans nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/models/batch_view.h"
#include "backend/models/history.h"
#include "backend/models/host_device.h"

namespace syncopate::models::llama {

/// Most rows of a step.
inline constexpr std::uint32_t kMaxPlanRows = 1024;

/// The padded size of a step, which its grids are made for. Tokens and rows from the batch's own
/// count on are padding: they are computed in part and never looked at.
struct StepShape {
  std::uint32_t rows = 0;    ///< At least the batch's.
  std::uint32_t tokens = 0;  ///< At least the batch's.
  std::uint32_t tile = 16;   ///< Queries (tokens times query heads of one KV head) that one
                             ///< block of attention takes: 16, 64 or 128.
  std::uint32_t group = 1;   ///< Query heads of one KV head.

  /// Most tiles that a batch can have: each row's tokens begin a tile.
  SYNCOPATE_HOST_DEVICE std::uint32_t tiles() const { return rows + tokens * group / tile; }
};

/// Arrays in device memory, a view. Everything in them is in range, whatever the input block held:
/// entries are inside the KV pool, tokens and rows inside the padded sizes. Where row starts fall,
/// which they do in garbage alone, a row begins where the one before it ends; a token of no row is
/// padding.
struct StepPlan {
  std::int32_t* entry;       ///< [tokens]: KV entry (BatchView::kv_entry) to write; -1: padding.
  std::int32_t* position;    ///< [tokens]; 0 for padding.
  std::int32_t* id;          ///< [tokens]: token id; 0 for padding.
  std::int32_t* last_token;  ///< [rows]: a row's last token; 0 for a row that is padding or empty.
  // As FlashInfer's paged prefill reads them, without a split of the keys.
  std::int32_t* query_start;  ///< [rows + 1]: first token of a row.
  std::int32_t* page_start;   ///< [rows + 1]: r * pages_per_row, the row's place in `pages`.
  std::int32_t* pages;        ///< [rows, pages_per_row]
  /// [rows]: such that (pages_per_row - 1) * page_tokens + this is the row's KV length; it is
  /// negative for all but full rows, which the arithmetic, modulo 2^32, does not mind.
  std::int32_t* last_page_tokens;
  std::int32_t* tile_row;    ///< [tiles]; 0 for those that are not valid.
  std::int32_t* tile_index;  ///< [tiles]: which of its row's tiles; 0 likewise.
  bool* tile_valid;          ///< [tiles]
};

/// Bytes of the arrays of the largest step: of most rows and tokens, and the smallest tile.
std::size_t step_plan_bytes(const StepShape& largest, std::uint32_t pages_per_row);
/// The arrays of a step in `memory`, which has step_plan_bytes() of the same or a larger shape and
/// begins at a multiple of 16 bytes.
StepPlan step_plan_at(std::byte* memory, const StepShape& shape, std::uint32_t pages_per_row);

/// Fills in the plan, and notes the ids of the batch's tokens in `history` where there is one. One
/// kernel. May be captured. Throws CudaError, and UsageError for more than kMaxPlanRows rows.
void enqueue_step_plan(cudaStream_t stream, const BatchView& batch, const BatchLimits& limits,
                       std::uint32_t vocab, const HistoryView& history, const StepShape& shape,
                       const StepPlan& plan);

}  // namespace syncopate::models::llama
