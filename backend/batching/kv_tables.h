// The block tables: which pages of the KV pool each row has, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batching/page_ledger.h"
#include "backend/batching/row.h"
#include "backend/models/batch_layout.h"
#include "backend/runtime/handles.h"

namespace syncopate::batching {

/// The KV pool and how it is laid out, for declaring writes (models::Model).
struct KvPool {
  runtime::Buffer buffer;
  std::uint64_t page_bytes = 0;
  std::uint64_t entry_bytes = 0;  ///< 0: a write is declared as one of the whole page.
};

/// One table a seat; a row holds a seat from its admission to its end. Not thread-safe. Does not
/// allocate after construction.
class KvTables {
 public:
  KvTables(const models::BatchLimits& limits, const KvPool& pool);

  const PageLedger& ledger() const { return ledger_; }
  const KvPool& pool() const { return pool_; }
  std::uint32_t page_tokens() const { return page_tokens_; }
  std::span<const std::int32_t> pages(const Row& row) const {
    return {&tables_[std::size_t{row.seat} * width_], row.pages};
  }
  /// Pages that `entries` KV entries fill.
  std::uint32_t pages_for(std::uint32_t entries) const {
    return (entries + page_tokens_ - 1) / page_tokens_;
  }
  /// Pages that `row` lacks to hold `entries`.
  std::uint32_t lacks(const Row& row, std::uint32_t entries) const {
    return entries <= row.page_end ? 0 : pages_for(entries) - row.pages;
  }

  /// Gives the row an empty table.
  void seat(Row& row);
  /// Takes pages until the row holds `entries`. Throws runtime::UsageError if there are too few.
  void grow(Row& row, std::uint32_t entries);
  /// Sets row.next_entry for row.position, whose page the row has.
  void locate(Row& row) const;
  /// Takes the row's pages and its seat; the pages are free once step `last_step` is done.
  void release(Row& row, std::int32_t last_step);
  /// Step `step` and all before it are done. Returns how many pages became free.
  std::uint32_t complete(std::int32_t step) { return ledger_.complete(step); }

  /// Checks the books against the tables of `rows`, which are all that there are: every page has
  /// one owner, every owned page stands in its owner's table once. Throws runtime::UsageError with
  /// the first fault. For tests: O(pages).
  void verify(std::span<const Row> rows) const;

 private:
  const KvPool pool_;
  const std::uint32_t width_;
  const std::uint32_t page_tokens_;
  PageLedger ledger_;
  std::vector<std::int32_t> tables_;  // [seat][width_]
  std::vector<std::uint32_t> seats_;  // free ones, a stack
};

}  // namespace syncopate::batching
