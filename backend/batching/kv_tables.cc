#include "backend/batching/kv_tables.h"

#include <numeric>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::batching {

KvTables::KvTables(const models::BatchLimits& limits, const KvPool& pool)
    : pool_(pool),
      width_(limits.pages_per_row),
      page_tokens_(limits.page_tokens),
      ledger_(limits.pages),
      tables_(std::size_t{limits.rows} * width_),
      seats_(limits.rows) {
  std::iota(seats_.rbegin(), seats_.rend(), 0U);
}

void KvTables::seat(Row& row) {
  row.seat = seats_.back();
  seats_.pop_back();
}

void KvTables::grow(Row& row, std::uint32_t entries) {
  std::int32_t* const table = &tables_[std::size_t{row.seat} * width_];
  for (const std::uint32_t pages = pages_for(entries); row.pages < pages; ++row.pages) {
    table[row.pages] = static_cast<std::int32_t>(ledger_.take(row.request));
  }
  row.page_end = row.pages * page_tokens_;
}

void KvTables::locate(Row& row) const {
  const auto page = static_cast<std::uint64_t>(pages(row)[row.position / page_tokens_]);
  row.next_entry = page * pool_.page_bytes + row.position % page_tokens_ * pool_.entry_bytes;
}

void KvTables::release(Row& row, std::int32_t last_step) {
  // A step in flight may still touch its pages; none planned from now on will.
  ledger_.retire(row.request, pages(row), last_step);
  seats_.push_back(row.seat);
}

void KvTables::verify(std::span<const Row> rows) const {
  const auto fault = [](const std::string& what) { throw runtime::UsageError("pages: " + what); };
  std::vector<bool> seen(ledger_.pages(), false);
  std::uint32_t owned = 0;
  for (const Row& row : rows) {
    for (const std::int32_t id : pages(row)) {
      const auto page = static_cast<std::uint32_t>(id);
      if (page >= ledger_.pages()) fault("a block table names page " + std::to_string(id));
      if (seen[page]) fault("page " + std::to_string(page) + " stands in two places");
      seen[page] = true;
      if (ledger_.owner(page) != row.request) {
        fault("page " + std::to_string(page) + " is used by request " +
              std::to_string(row.request) + " but not owned by it");
      }
      ++owned;
    }
    if (row.page_end != row.pages * page_tokens_) {
      fault("request " + std::to_string(row.request) + " miscounts its pages");
    }
  }
  if (owned + ledger_.free_pages() + ledger_.retired_pages() != ledger_.pages()) {
    fault(std::to_string(owned) + " owned, " + std::to_string(ledger_.free_pages()) + " free and " +
          std::to_string(ledger_.retired_pages()) + " retired do not make " +
          std::to_string(ledger_.pages()));
  }
}

}  // namespace syncopate::batching
