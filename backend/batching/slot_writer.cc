#include "backend/batching/slot_writer.h"

#include <algorithm>
#include <numeric>

namespace syncopate::batching {

using models::BatchLayout;

void SlotWriter::write(Slot& slot, const PlannedRows& planned) {
  slot.rows = static_cast<std::uint32_t>(planned.rows.size());
  slot.tail_changed = false;
  if (slot.filling != planned.filling || slot.carried != planned.carried) {
    write_filling(slot, planned);
  }
  slot.kv_writes.resize(planned.decodes);
  write_decodes(slot, planned);
  for (std::uint32_t r = planned.decodes; r < slot.rows; ++r) {
    write_prefill(slot, r, planned.rows[r]);
  }
}

void SlotWriter::write_filling(Slot& slot, const PlannedRows& planned) {
  std::uint32_t token = 0;
  for (std::uint32_t r = 0; r < slot.rows; ++r) {
    const Row& row = planned.rows[r];
    if (slot.stay[r] != row.stay) {  // the slot last held another there
      slot.stay[r] = row.stay;
      slot.pages_written[r] = 0;
      std::ranges::copy(book_.sampling(row.request),
                        slot.in + layout_.sampling() + std::size_t{r} * models::kSamplingWords);
      slot.tail_changed = true;
    }
    slot.in[layout_.row_start() + r] = static_cast<std::int32_t>(token);
    const bool carries = planned.carried && r < planned.decodes && row.previous_row >= 0;
    slot.in[layout_.carry() + r] = carries ? row.previous_row : -1;
    if (r < planned.decodes) {
      // Of a row that carries, any id: the device puts the real one there.
      slot.in[layout_.ids() + token] = carries ? 0 : book_.last_token(row.request);
    }
    token += row.take;
  }
  slot.in[layout_.row_start() + slot.rows] = static_cast<std::int32_t>(token);
  slot.in[BatchLayout::kRows] = static_cast<std::int32_t>(slot.rows);
  slot.in[BatchLayout::kTokens] = static_cast<std::int32_t>(token);
  slot.tokens = token;
  slot.filling = planned.filling;
  slot.carried = planned.carried;
}

// The loop of a steady step. What it stores could be anywhere for all that the compiler knows, so
// everything it needs is in locals, and each row is read before it is written.
void SlotWriter::write_decodes(Slot& slot, const PlannedRows& planned) {
  const std::uint32_t decodes = planned.decodes;
  const std::uint64_t entry_bytes = tables_.pool().entry_bytes;
  const std::uint64_t written = entry_bytes > 0 ? entry_bytes : tables_.pool().page_bytes;
  const runtime::Buffer pool = tables_.pool().buffer;
  std::int32_t* const positions = slot.in + layout_.positions();
  std::int32_t* const kv_length = slot.in + layout_.kv_length();
  const std::uint32_t* const pages_written = slot.pages_written.data();
  runtime::Access* const kv_writes = slot.kv_writes.data();
  Row* const rows = planned.rows.data();
  for (std::uint32_t r = 0; r < decodes; ++r) {
    Row& row = rows[r];
    if (row.position == row.page_end) tables_.grow(row, row.position + 1);
    if (pages_written[r] != row.pages) {
      write_pages(slot, r, row);
      tables_.locate(row);
    }
    const std::uint32_t position = row.position;
    const std::uint64_t entry = row.next_entry;
    row.position = position + 1;
    row.next_entry = entry + entry_bytes;
    positions[r] = static_cast<std::int32_t>(position);
    kv_length[r] = static_cast<std::int32_t>(position + 1);
    // Member by member: a whole one would be put together on the stack first, which stalls.
    kv_writes[r].begin = entry;
    kv_writes[r].end = entry + written;
    kv_writes[r].buffer = pool;
    kv_writes[r].write = true;
  }
  if (planned.carried) return;
  std::int32_t* const ids = slot.in + layout_.ids();
  for (std::uint32_t r = 0; r < decodes; ++r) ids[r] = book_.last_token(rows[r].request);
}

void SlotWriter::write_prefill(Slot& slot, std::uint32_t r, Row& row) {
  if (slot.pages_written[r] != row.pages) write_pages(slot, r, row);
  const auto start = static_cast<std::uint32_t>(slot.in[layout_.row_start() + r]);
  book_.copy_ids(row.request, row.position, row.take, slot.in + layout_.ids() + start);
  std::int32_t* const positions = slot.in + layout_.positions() + start;
  std::iota(positions, positions + row.take, static_cast<std::int32_t>(row.position));
  slot.in[layout_.kv_length() + r] = static_cast<std::int32_t>(row.position + row.take);
  declare(slot, row);
  row.position += row.take;
  if (row.decodes() && row.position < row.page_end) tables_.locate(row);
}

void SlotWriter::write_pages(Slot& slot, std::uint32_t r, const Row& row) {
  const auto pages = tables_.pages(row).subspan(slot.pages_written[r]);
  const std::size_t to = layout_.block_table() + std::size_t{r} * layout_.limits().pages_per_row +
                         slot.pages_written[r];
  std::ranges::copy(pages, slot.in + to);
  slot.pages_written[r] = row.pages;
  slot.tail_changed = true;
}

// The entries that a prefill writes, page by page.
void SlotWriter::declare(Slot& slot, const Row& row) {
  const KvPool& pool = tables_.pool();
  const std::uint32_t per_page = tables_.page_tokens();
  const std::uint32_t end = row.position + row.take;
  for (std::uint32_t at = row.position; at < end;) {
    const std::uint32_t index = at / per_page;
    const std::uint32_t stop = std::min(end, (index + 1) * per_page);
    const std::uint64_t page =
        static_cast<std::uint64_t>(tables_.pages(row)[index]) * pool.page_bytes;
    const std::uint32_t first = at - index * per_page;
    if (pool.entry_bytes > 0) {
      slot.kv_writes.push_back({page + first * pool.entry_bytes,
                                page + (first + stop - at) * pool.entry_bytes, pool.buffer, true});
    } else {
      slot.kv_writes.push_back({page, page + pool.page_bytes, pool.buffer, true});
    }
    at = stop;
  }
}

}  // namespace syncopate::batching
