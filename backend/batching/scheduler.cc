#include "backend/batching/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::batching {

Scheduler::Scheduler(const models::BatchLayout& layout, const KvPool& kv, const ModelBounds& bounds,
                     const SchedulerOptions& options, std::span<const Request> requests)
    : layout_(layout),
      options_(options),
      book_(requests, layout.limits(), bounds),
      tables_(layout.limits(), kv),
      writer_(layout, book_, tables_) {
  const models::BatchLimits& limits = layout.limits();
  if (limits.tokens < limits.rows) {
    throw runtime::UsageError("limits: a step of " + std::to_string(limits.tokens) +
                              " tokens cannot decode " + std::to_string(limits.rows) + " rows");
  }
  waiting_.reserve(requests.size());
  rows_.reserve(2 * std::size_t{limits.rows});
  others_.reserve(limits.rows);
  takers_.reserve(limits.rows);
  advance(0);
}

void Scheduler::advance(runtime::Nanos now) {
  const bool cancelled = book_.advance(now, [this](std::uint32_t request) {
    waiting_.push({book_.rank(request), request, 0});
    may_admit_ = true;
  });
  if (cancelled) took_leave();
}

void Scheduler::cancel(std::uint32_t request) {
  if (book_.cancel(request)) took_leave();
}

// Some client gave up. Its request may have a row, or be the one that others wait behind.
void Scheduler::took_leave() {
  ended_early_ = true;
  may_admit_ = true;
}

bool Scheduler::has_work() const {
  return !waiting_.empty() ||
         std::ranges::any_of(rows_, [this](const Row& row) { return !all_planned_or_ended(row); });
}

bool Scheduler::plan(std::int32_t step, Slot& slot, StepRows& rows, bool previous_in_flight) {
  const bool moved_before = moved_;
  changed_rows_ = 0;
  if (is_steady()) {
    moved_ = false;
  } else {
    compose();
  }
  const std::uint32_t count = decodes_ + prefills_;
  if (count == 0) return false;

  // What a steady step leaves as it is (row starts, carry map, whose rows) changes with the rows,
  // and once more in the step after, when all rows stand where they stood before.
  if (moved_ || moved_before) ++filling_;
  const std::span<Row> planned = std::span(rows_).first(count);
  writer_.write(slot, {planned, decodes_, filling_, previous_in_flight});
  rows.step = planned_step_ = step;
  rows.rows = count;
  preempted_ = std::exchange(preempted_since_, 0);
  if (moved_ || moved_before) {
    count_moved();
  } else {
    kv_tokens_ += count;
    attention_pairs_ = kv_tokens_;
    ++max_kv_tokens_;
    --steps_to_end_;
  }
  if (rows.filling != filling_) note_rows(rows);

  slot.cost.work = runtime::Work::kForward;
  slot.cost.rows = count;
  slot.cost.tokens = slot.tokens;
  slot.cost.changed_rows = changed_rows_;
  slot.cost.kv_tokens = kv_tokens_;
  slot.cost.max_kv_tokens = max_kv_tokens_;
  slot.cost.attention_pairs = attention_pairs_;
  return true;
}

std::uint32_t Scheduler::update(const StepRows& rows, const std::int32_t* ids,
                                const OnToken& on_token) {
  const RequestBook::Taken taken =
      book_.take(std::span(rows.request).first(rows.rows), ids, rows.step, on_token);
  ended_early_ |= taken.ended_early;
  if (tables_.complete(rows.step) > 0 || awaits_tokens_) may_admit_ = true;
  return taken.discarded;
}

// -- who is in the step -------------------------------------------------------------------------

bool Scheduler::all_planned_or_ended(const Row& row) const {
  return row.position == row.end_position || book_.ended(row.request);
}

// Whether the step would have the rows of the one before, all of them decode, and none can lack a
// page.
bool Scheduler::is_steady() const {
  return !moved_ && !ended_early_ && steps_to_end_ > 0 && decodes_ > 0 &&
         decodes_ == rows_.size() && !(may_admit_ && !waiting_.empty()) &&
         tables_.ledger().free_pages() >= decodes_;
}

void Scheduler::compose() {
  const std::uint32_t decodes_before = decodes_;
  const std::uint32_t idle_before = static_cast<std::uint32_t>(rows_.size()) - decodes_ - prefills_;
  const bool prefilled_before = prefills_ > 0;
  begin_rows();
  budget_ = layout_.limits().tokens;
  if (options_.policy == TokenPolicy::kDecodeFirst) {
    take_decodes();
    take_prefills();
    admit();
  } else {
    take_prefills();
    admit();
    take_decodes();
  }
  arrange();
  const auto idle = static_cast<std::uint32_t>(rows_.size()) - decodes_ - prefills_;
  moved_ = changed_rows_ > 0 || prefills_ > 0 || prefilled_before || idle > 0 || idle_before > 0 ||
           decodes_ != decodes_before;
}

// Sends off those that are done.
void Scheduler::begin_rows() {
  alive_ = static_cast<std::uint32_t>(rows_.size());
  for (Row& row : rows_) {
    row.take = 0;
    const bool ended = ended_early_ && book_.ended(row.request);
    if (ended || row.position == row.end_position) leave(row);
  }
  ended_early_ = false;
}

void Scheduler::leave(Row& row) {
  row.gone = true;
  row.take = 0;
  tables_.release(row, planned_step_);
  --alive_;
  ++changed_rows_;
  may_admit_ = true;
}

// The host has it, or the step before sampled it and it is carried over. Neither holds for a row
// that sat out while its id is still in flight: it waits.
bool Scheduler::next_id_is_there(const Row& row) const {
  return row.previous_row >= 0 ||
         book_.known(row.request) > row.position - book_.prompt_size(row.request);
}

void Scheduler::take_decodes() {
  takers_.clear();
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!row.gone && row.decodes() && next_id_is_there(row)) takers_.push_back(i);
  }
  // When tokens or pages are short, who is served first takes first.
  if (takers_.size() > std::min(budget_, tables_.ledger().free_pages())) sort_takers();
  for (const std::uint32_t i : takers_) {
    if (budget_ == 0) break;
    Row& row = rows_[i];
    if (row.gone || !secure(row, row.position + 1)) continue;
    row.take = 1;
    --budget_;
  }
}

void Scheduler::take_prefills() {
  takers_.clear();
  for (std::uint32_t i = decodes_; i < rows_.size(); ++i) {  // those before it decoded already
    if (!rows_[i].gone && !rows_[i].decodes()) takers_.push_back(i);
  }
  sort_takers();
  for (const std::uint32_t i : takers_) {
    if (budget_ == 0) break;
    Row& row = rows_[i];
    const std::uint32_t take = chunk(row);
    if (row.gone || !secure(row, row.position + take)) continue;
    row.take = take;
    budget_ -= take;
  }
}

void Scheduler::sort_takers() {
  std::ranges::sort(takers_, {}, [this](std::uint32_t i) { return rows_[i].rank; });
}

// What a prompt gets of the tokens that are left.
std::uint32_t Scheduler::chunk(const Row& row) const {
  const std::uint32_t most = std::min(budget_, row.target - row.position);
  return options_.chunk_tokens > 0 ? std::min(most, options_.chunk_tokens) : most;
}

void Scheduler::admit() {
  if (!may_admit_ || waiting_.empty()) return;
  std::uint32_t spoken_for = pages_spoken_for();
  while (may_admit_ && !waiting_.empty() && budget_ > 0) {
    const WaitingQueue::Entry next = waiting_.top();
    if (book_.ended(next.request)) {  // cancelled, or its last token was in flight
      waiting_.pop();
      continue;
    }
    const std::uint32_t known = book_.known(next.request);
    const std::uint32_t target = book_.prompt_size(next.request) + known;
    awaits_tokens_ = known < next.tokens;
    if (awaits_tokens_ || alive_ == layout_.limits().rows ||
        spoken_for + tables_.pages_for(target) > tables_.ledger().free_pages()) {
      may_admit_ = false;  // until something changes
      return;
    }
    waiting_.pop();
    Row& row = rows_.emplace_back();
    row.request = next.request;
    row.rank = next.rank;
    row.stay = ++stays_;
    row.target = target;
    row.end_position = static_cast<std::uint32_t>(entries_at_end(book_.request(next.request)));
    tables_.seat(row);
    ++alive_;
    ++changed_rows_;
    row.take = chunk(row);
    tables_.grow(row, row.take);
    spoken_for += tables_.lacks(row, target);
    budget_ -= row.take;
  }
}

// Pages that prompts under way have yet to take, and that decoding rows need in this step.
std::uint32_t Scheduler::pages_spoken_for() const {
  std::uint32_t pages = 0;
  for (const Row& row : rows_) {
    if (!row.gone) pages += tables_.lacks(row, row.decodes() ? row.position + 1 : row.target);
  }
  return pages;
}

// Gives the row the pages for `entries`. False when it has to wait for pages of steps in flight, or
// had to leave itself.
bool Scheduler::secure(Row& row, std::uint32_t entries) {
  const std::uint32_t lacks = tables_.lacks(row, entries);
  const PageLedger& ledger = tables_.ledger();
  while (ledger.free_pages() < lacks) {
    if (ledger.free_pages() + ledger.retired_pages() >= lacks) return false;
    Row& last = last_served();
    preempt(last);
    if (&last == &row) return false;
  }
  if (lacks > 0) tables_.grow(row, entries);
  return true;
}

Row& Scheduler::last_served() {
  Row* last = nullptr;
  for (Row& row : rows_) {
    if (!row.gone && (last == nullptr || row.rank > last->rank)) last = &row;
  }
  return *last;
}

void Scheduler::preempt(Row& row) {
  // Tokens sampled for it so far. Those of them in flight come from pages that stay as they are
  // until then, and count.
  const std::uint32_t prompt = book_.prompt_size(row.request);
  const std::uint32_t tokens = row.decodes() ? row.position - prompt + 1 : book_.known(row.request);
  budget_ += row.take;
  leave(row);
  waiting_.push({row.rank, row.request, tokens});
  book_.count_preemption(row.request);
  ++preempted_since_;
}

// Puts the rows in order, moving as few as can be: a row that stays where it is costs nothing.
// Those that leave are replaced by those that begin to decode, and then by the last.
void Scheduler::arrange() {
  others_.clear();
  decodes_ = 0;
  std::size_t idle = 0;
  const auto decodes_now = [](const Row& row) { return row.take > 0 && row.decodes(); };
  for (const Row& row : rows_) {
    if (row.gone) continue;
    if (decodes_now(row)) {
      ++decodes_;
    } else if (row.take > 0) {
      others_.push_back(row);
    } else {
      ++idle;
    }
  }
  prefills_ = static_cast<std::uint32_t>(others_.size());
  for (std::size_t i = 0; idle > 0; ++i) {
    if (rows_[i].gone || rows_[i].take > 0) continue;
    others_.push_back(rows_[i]);
    --idle;
  }
  std::size_t hole = 0;
  for (std::size_t i = decodes_; i < rows_.size(); ++i) {
    if (rows_[i].gone || !decodes_now(rows_[i])) continue;
    while (!rows_[hole].gone && decodes_now(rows_[hole])) ++hole;
    rows_[hole++] = rows_[i];
    ++changed_rows_;
  }
  rows_.resize(decodes_);
  rows_.insert(rows_.end(), others_.begin(), others_.end());
}

// -- what the step is ---------------------------------------------------------------------------

// Counts over all rows; a steady step only adds to it. Rows have moved on past the step's tokens.
void Scheduler::count_moved() {
  kv_tokens_ = 0;
  attention_pairs_ = 0;
  max_kv_tokens_ = 0;
  steps_to_end_ = UINT32_MAX;
  for (std::uint32_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    const bool planned = r < decodes_ + prefills_;
    row.previous_row = planned && row.decodes() ? static_cast<std::int32_t>(r) : -1;
    if (!planned) continue;
    kv_tokens_ += row.position;
    // The last of its tokens attends to all entries, each before it to one less.
    attention_pairs_ += std::uint64_t{row.take} * row.position - row.take * (row.take - 1ULL) / 2;
    max_kv_tokens_ = std::max(max_kv_tokens_, row.position);
    steps_to_end_ = std::min(steps_to_end_, row.end_position - row.position);
  }
}

void Scheduler::note_rows(StepRows& rows) {
  for (std::uint32_t r = 0; r < rows.rows; ++r) {
    rows.request[r] = rows_[r].decodes() ? rows_[r].request : kNobody;
  }
  rows.filling = filling_;
}

}  // namespace syncopate::batching
