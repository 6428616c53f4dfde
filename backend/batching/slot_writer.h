// Fills a slot's pinned inputs with the step that was planned.
#pragma once

#include <cstdint>
#include <span>

#include "backend/batching/kv_tables.h"
#include "backend/batching/request_book.h"
#include "backend/batching/row.h"
#include "backend/batching/slot.h"
#include "backend/models/batch_layout.h"

namespace syncopate::batching {

/// What is written, and for whom. The first `decodes` rows decode, the rest prefill.
struct PlannedRows {
  std::span<Row> rows;
  std::uint32_t decodes = 0;
  std::uint64_t filling = 0;  ///< Numbers the different fillings of what a steady step leaves.
  bool carried = false;       ///< The ids of the step before are not known on the host.
};

/// Writes only what differs from what the slot holds. Moves each row on past the tokens of the
/// step. Not thread-safe; does not allocate once a slot has held the largest step.
class SlotWriter {
 public:
  SlotWriter(const models::BatchLayout& layout, const RequestBook& book, KvTables& tables)
      : layout_(layout), book_(book), tables_(tables) {}

  void write(Slot& slot, const PlannedRows& planned);

 private:
  void write_filling(Slot& slot, const PlannedRows& planned);
  void write_decodes(Slot& slot, const PlannedRows& planned);
  void write_prefill(Slot& slot, std::uint32_t r, Row& row);
  void write_pages(Slot& slot, std::uint32_t r, const Row& row);
  void declare(Slot& slot, const Row& row);

  const models::BatchLayout& layout_;
  const RequestBook& book_;
  KvTables& tables_;
};

}  // namespace syncopate::batching
