// A slot: the inputs and outputs of one step, on the host and on the device. With two slots, one is
// prepared while the other computes.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "backend/runtime/cost.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/memory.h"

namespace syncopate::batching {

struct Slot {
  std::uint32_t index = 0;
  runtime::Buffer host_inputs;   ///< An input block (models::BatchLayout).
  runtime::Buffer host_outputs;  ///< next_id[rows].
  runtime::Buffer inputs;        ///< Device, as above.
  runtime::Buffer outputs;
  std::int32_t* in = nullptr;  ///< host_inputs' words.
  const std::int32_t* out = nullptr;

  // What was last written here.
  std::uint64_t filling = 0;                 ///< PlannedRows::filling; 0: nothing yet.
  bool carried = false;                      ///< Whether ids come from the step before.
  std::vector<std::uint64_t> stay;           ///< Row::stay of who stands in each row.
  std::vector<std::uint32_t> pages_written;  ///< Block-table entries present, by row.
  bool tail_changed = false;                 ///< Block tables or sampling, since the last copy.

  // The step that was planned into it last.
  std::uint32_t rows = 0;
  std::uint32_t tokens = 0;
  runtime::Cost cost;                      ///< Of the forward pass.
  std::vector<runtime::Access> kv_writes;  ///< Exact ranges of the KV pool that it writes.
};

/// Whose rows a step in flight computes. Kept by step and not by slot, as its events are: even when
/// a slot is filled again too early, results go to the right requests (with the wrong tokens).
struct StepRows {
  std::int32_t step = -1;
  std::uint32_t rows = 0;
  std::uint64_t filling = 0;  ///< What `request` was written for.
  /// Whom each row samples for; kNobody: no one, since the row is a part of a prompt.
  std::vector<std::uint32_t> request;
};

}  // namespace syncopate::batching
