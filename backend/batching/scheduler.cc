#include "backend/batching/scheduler.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

using models::BatchLayout;

[[noreturn]] void refuse(std::size_t request, const std::string& why) {
  throw runtime::UsageError("request " + std::to_string(request) + " " + why);
}

// KV entries at a request's end. The last token sampled is never an input: it has no entry.
std::uint32_t entries_at_end(const Request& request) {
  return static_cast<std::uint32_t>(request.prompt.size()) + request.max_new_tokens - 1;
}

}  // namespace

Scheduler::Scheduler(const BatchLayout& layout, KvPool kv, std::span<const Request> requests)
    : layout_(layout),
      kv_(kv),
      requests_(requests),
      width_(layout.limits().pages_per_row),
      ledger_(layout.limits().pages),
      states_(requests.size()),
      seats_(layout.limits().rows),
      tables_(std::size_t{layout.limits().rows} * width_),
      unfinished_(static_cast<std::uint32_t>(requests.size())) {
  const models::BatchLimits& limits = layout.limits();
  if (limits.tokens < limits.rows) {
    throw runtime::UsageError("limits: a step of " + std::to_string(limits.tokens) +
                              " tokens cannot decode " + std::to_string(limits.rows) + " rows");
  }
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (request.prompt.empty()) refuse(i, "has an empty prompt");
    if (request.max_new_tokens == 0) refuse(i, "asks for no token");
    if (request.prompt.size() > limits.tokens) {
      refuse(i, "has a prompt of " + std::to_string(request.prompt.size()) +
                    " tokens; a step takes " + std::to_string(limits.tokens));
    }
    const std::uint32_t needs = worst_pages(static_cast<std::uint32_t>(i));
    const std::uint32_t most = std::min(width_, limits.pages);
    if (needs > most) {
      refuse(i, "needs " + std::to_string(needs) + " KV pages at its end; " + std::to_string(most) +
                    " is the most that it can have");
    }
    tokens += request.max_new_tokens;
  }
  tokens_.resize(tokens);
  std::int32_t* next = tokens_.data();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    states_[i].tokens = next;
    states_[i].max_new_tokens = requests[i].max_new_tokens;
    states_[i].eos = requests[i].eos;
    next += requests[i].max_new_tokens;
  }
  rows_.reserve(limits.rows);
  std::iota(seats_.rbegin(), seats_.rend(), 0U);
}

bool Scheduler::plan(std::int32_t step, Slot& slot, StepRows& rows, bool previous_in_flight) {
  const bool moved_before = changed_rows_ > 0 || prefills_ > 0;
  changed_rows_ = 0;
  prefills_ = 0;
  if (ended_by_eos_ || steps_to_end_ == 0) remove_ended();
  if (may_admit_ && next_waiting_ < requests_.size()) admit();
  if (rows_.empty()) return false;

  // The fixed fields (row starts, carry map, prompts) change with the rows, and once more in the
  // step after, when all rows decode and stand where they stood before.
  const bool moved = changed_rows_ > 0 || prefills_ > 0;
  if (moved || moved_before) ++membership_;
  rows.step = planned_step_ = step;
  slot.rows = rows.rows = static_cast<std::uint32_t>(rows_.size());
  slot.block_table_changed = false;
  if (slot.membership != membership_ || slot.carried != previous_in_flight) {
    write_membership(slot, previous_in_flight);
  }
  if (rows.membership != membership_) {
    for (std::uint32_t r = 0; r < rows.rows; ++r) rows.request[r] = rows_[r].request;
    rows.membership = membership_;
  }
  write_decodes(slot, previous_in_flight);
  if (prefills_ > 0) write_prefills(slot);

  if (moved || moved_before) {
    kv_tokens_ = 0;
    max_kv_tokens_ = 0;
    steps_to_end_ = UINT32_MAX;
    for (const Row& row : rows_) {
      kv_tokens_ += row.position;  // already past this step's tokens: all entries that it reads
      max_kv_tokens_ = std::max(max_kv_tokens_, row.position);
      steps_to_end_ = std::min(steps_to_end_, row.end_position - row.position);
    }
    attention_pairs_ = kv_tokens_;
    for (const Row& row : std::span(rows_).last(prefills_)) {
      attention_pairs_ +=
          std::uint64_t{row.position} * (row.position - 1) / 2;  // p (p + 1) / 2 - p
    }
  } else {
    kv_tokens_ += rows_.size();
    attention_pairs_ = kv_tokens_;
    ++max_kv_tokens_;
    --steps_to_end_;
  }
  slot.cost.work = runtime::Work::kForward;
  slot.cost.rows = slot.rows;
  slot.cost.tokens = slot.tokens;
  slot.cost.changed_rows = changed_rows_;
  slot.cost.kv_tokens = kv_tokens_;
  slot.cost.max_kv_tokens = max_kv_tokens_;
  slot.cost.attention_pairs = attention_pairs_;
  return true;
}

std::uint32_t Scheduler::update(const StepRows& rows, const std::int32_t* ids) {
  State* const states = states_.data();
  const std::uint32_t* const request = rows.request.data();
  const std::uint32_t count = rows.rows;
  std::uint32_t discarded = 0;
  for (std::uint32_t row = 0; row < count; ++row) {
    State& state = states[request[row]];
    if (state.reason != FinishReason::kNone) {  // it ended while this step was in flight
      ++discarded;
      continue;
    }
    const std::int32_t id = ids[row];
    const std::uint32_t known = state.known;
    state.known = known + 1;
    state.tokens[known] = id;
    if (known == 0) state.first_step = rows.step;
    if (is_eos(state, id)) {
      state.reason = FinishReason::kEos;
      ended_by_eos_ = true;
    } else if (known + 1 == state.max_new_tokens) {
      state.reason = FinishReason::kLength;
    } else {
      continue;
    }
    state.last_step = rows.step;
    --unfinished_;
  }
  tokens_done_ += count - discarded;
  if (ledger_.complete(rows.step) > 0) may_admit_ = true;
  return discarded;
}

bool Scheduler::is_eos(const State& state, std::int32_t id) {
  for (const std::int32_t end : state.eos) {
    if (id == end) return true;
  }
  return false;
}

bool Scheduler::has_work() const {
  return next_waiting_ < requests_.size() ||
         std::any_of(rows_.begin(), rows_.end(), [this](const Row& row) { return !ended(row); });
}

RequestResult Scheduler::result(std::uint32_t request) const {
  const State& state = states_[request];
  return {{state.tokens, state.known}, state.reason, state.first_step, state.last_step};
}

void Scheduler::verify() const {
  const auto fault = [](const std::string& what) { throw runtime::UsageError("pages: " + what); };
  std::vector<bool> seen(ledger_.pages(), false);
  std::uint32_t owned = 0;
  for (const Row& row : rows_) {
    for (std::uint32_t i = 0; i < row.pages; ++i) {
      const auto page = static_cast<std::uint32_t>(tables_[std::size_t{row.seat} * width_ + i]);
      if (page >= ledger_.pages()) fault("a block table names page " + std::to_string(page));
      if (seen[page]) fault("page " + std::to_string(page) + " stands in two places");
      seen[page] = true;
      if (ledger_.owner(page) != row.request) {
        fault("page " + std::to_string(page) + " is used by request " +
              std::to_string(row.request) + " but not owned by it");
      }
      ++owned;
    }
  }
  if (owned + ledger_.free_pages() + ledger_.retired_pages() != ledger_.pages()) {
    fault(std::to_string(owned) + " owned, " + std::to_string(ledger_.free_pages()) + " free and " +
          std::to_string(ledger_.retired_pages()) + " retired do not make " +
          std::to_string(ledger_.pages()));
  }
}

// -- who is in the step
// ------------------------------------------------------------------------------

std::uint32_t Scheduler::pages_for(std::uint32_t entries) const {
  const std::uint32_t per_page = layout_.limits().page_tokens;
  return (entries + per_page - 1) / per_page;
}

std::uint32_t Scheduler::worst_pages(std::uint32_t request) const {
  return pages_for(entries_at_end(requests_[request]));
}

std::uint32_t Scheduler::prompt_size(const Row& row) const {
  return static_cast<std::uint32_t>(requests_[row.request].prompt.size());
}

bool Scheduler::ended(const Row& row) const {
  return row.position == row.end_position || states_[row.request].reason != FinishReason::kNone;
}

void Scheduler::remove_ended() {
  std::size_t kept = 0;
  for (const Row& row : rows_) {
    if (!ended(row)) {
      rows_[kept++] = row;
      continue;
    }
    // A step in flight may still touch its pages; none planned from now on will.
    ledger_.retire(row.request, std::span(table(row), row.pages), planned_step_);
    promised_pages_ -= worst_pages(row.request);
    seats_.push_back(row.seat);
  }
  changed_rows_ += static_cast<std::uint32_t>(rows_.size() - kept);
  if (kept < rows_.size()) may_admit_ = true;
  rows_.resize(kept);
  ended_by_eos_ = false;
}

void Scheduler::admit() {
  const models::BatchLimits& limits = layout_.limits();
  std::size_t tokens = rows_.size();
  for (; next_waiting_ < requests_.size(); ++next_waiting_) {
    const Request& request = requests_[next_waiting_];
    const std::uint32_t needs = worst_pages(next_waiting_);
    if (rows_.size() == limits.rows ||
        promised_pages_ + ledger_.retired_pages() + needs > limits.pages) {
      may_admit_ = false;  // until something is freed
      return;
    }
    if (tokens + request.prompt.size() > limits.tokens) return;  // the next step may have room
    tokens += request.prompt.size();
    promised_pages_ += needs;
    Row row;
    row.request = next_waiting_;
    row.seat = seats_.back();
    row.end_position = entries_at_end(request);
    seats_.pop_back();
    rows_.push_back(row);
    ++prefills_;
    ++changed_rows_;
  }
}

void Scheduler::grow(Row& row, std::uint32_t entries) {
  const std::uint32_t pages = pages_for(entries);
  for (; row.pages < pages; ++row.pages) {
    table(row)[row.pages] = static_cast<std::int32_t>(ledger_.take(row.request));
  }
  row.page_end = row.pages * layout_.limits().page_tokens;
  const auto last_page = static_cast<std::uint64_t>(table(row)[row.pages - 1]);
  const std::uint32_t place = entries - 1 - (row.page_end - layout_.limits().page_tokens);
  row.next_entry = last_page * kv_.page_bytes + place * kv_.entry_bytes;
}

// -- filling the inputs
// ------------------------------------------------------------------------------

void Scheduler::write_membership(Slot& slot, bool previous_in_flight) {
  const std::uint32_t decodes = slot.rows - prefills_;
  std::uint32_t token = 0;
  for (std::uint32_t r = 0; r < slot.rows; ++r) {
    Row& row = rows_[r];
    slot.pages_written[r] = 0;
    slot.in[layout_.row_start() + r] = static_cast<std::int32_t>(token);
    slot.in[layout_.carry() + r] = previous_in_flight ? row.previous_row : -1;
    slot.in[layout_.ids() + token] = 0;  // of a carried row: the device puts the real one here
    row.previous_row = static_cast<std::int32_t>(r);
    token += r < decodes ? 1 : prompt_size(row);
  }
  slot.in[layout_.row_start() + slot.rows] = static_cast<std::int32_t>(token);
  slot.in[BatchLayout::kRows] = static_cast<std::int32_t>(slot.rows);
  slot.in[BatchLayout::kTokens] = static_cast<std::int32_t>(token);
  slot.tokens = token;
  slot.membership = membership_;
  slot.carried = previous_in_flight;
}

// The loop of a steady step. What it stores could be anywhere for all that the compiler knows, so
// everything it needs is in locals, and each row is read before it is written.
void Scheduler::write_decodes(Slot& slot, bool previous_in_flight) {
  const std::uint32_t decodes = slot.rows - prefills_;
  const std::uint64_t entry_bytes = kv_.entry_bytes;
  const std::uint64_t written = entry_bytes > 0 ? entry_bytes : kv_.page_bytes;
  const runtime::Buffer pool = kv_.buffer;
  slot.kv_writes.resize(decodes);
  std::int32_t* const positions = slot.in + layout_.positions();
  std::int32_t* const kv_length = slot.in + layout_.kv_length();
  const std::uint32_t* const pages_written = slot.pages_written.data();
  runtime::Access* const kv_writes = slot.kv_writes.data();
  Row* const rows = rows_.data();
  for (std::uint32_t r = 0; r < decodes; ++r) {
    Row& row = rows[r];
    if (row.position == row.page_end) grow(row, row.position + 1);
    if (pages_written[r] != row.pages) write_pages(slot, r);
    const std::uint32_t position = row.position;
    const std::uint64_t entry = row.next_entry;
    row.position = position + 1;
    row.next_entry = entry + entry_bytes;
    positions[r] = static_cast<std::int32_t>(position);
    kv_length[r] = static_cast<std::int32_t>(position + 1);
    kv_writes[r] = {entry, entry + written, pool, true};
  }
  if (previous_in_flight) return;
  std::int32_t* const ids = slot.in + layout_.ids();
  for (std::uint32_t r = 0; r < decodes; ++r) {
    const State& state = states_[rows[r].request];
    ids[r] = state.tokens[state.known - 1];
  }
}

void Scheduler::write_prefills(Slot& slot) {
  for (std::uint32_t r = slot.rows - prefills_; r < slot.rows; ++r) {
    Row& row = rows_[r];
    const std::uint32_t size = prompt_size(row);
    grow(row, size);
    write_pages(slot, r);
    const auto start = static_cast<std::uint32_t>(slot.in[layout_.row_start() + r]);
    const std::vector<std::int32_t>& prompt = requests_[row.request].prompt;
    std::copy(prompt.begin(), prompt.end(), slot.in + layout_.ids() + start);
    std::iota(slot.in + layout_.positions() + start, slot.in + layout_.positions() + start + size,
              0);
    slot.in[layout_.kv_length() + r] = static_cast<std::int32_t>(size);
    declare_prefill(slot, row, size);
    row.next_entry += kv_.entry_bytes;  // grow() left it at the prompt's last
    row.position = size;
  }
}

void Scheduler::write_pages(Slot& slot, std::uint32_t r) {
  const Row& row = rows_[r];
  const std::uint32_t from = slot.pages_written[r];
  std::copy(table(row) + from, table(row) + row.pages,
            slot.in + layout_.block_table() + std::size_t{r} * width_ + from);
  slot.pages_written[r] = row.pages;
  slot.block_table_changed = true;
}

void Scheduler::declare_prefill(Slot& slot, const Row& row, std::uint32_t entries) {
  const std::uint32_t per_page = layout_.limits().page_tokens;
  for (std::uint32_t index = 0; index < row.pages; ++index) {
    const std::uint32_t in_page = std::min(per_page, entries - index * per_page);
    const std::uint64_t bytes = kv_.entry_bytes > 0 ? in_page * kv_.entry_bytes : kv_.page_bytes;
    const std::uint64_t page = static_cast<std::uint64_t>(table(row)[index]) * kv_.page_bytes;
    slot.kv_writes.push_back({page, page + bytes, kv_.buffer, true});
  }
}

}  // namespace syncopate::batching
