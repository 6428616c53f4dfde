#include "tests/driver/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/batching/batcher.h"
#include "backend/runtime/error.h"
#include "experiments/run/batcher_options.h"

namespace syncopate::driver {

using batching::FinishReason;
using batching::PageLedger;
using batching::Request;
using batching::RequestResult;
using batching::Row;
using batching::Scheduler;
using batching::Slot;

namespace {

template <class... Args>
[[noreturn]] void fault(const char* check, fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(check, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace

Books::Books(const experiments::BatchingConfig& config, const std::vector<Request>& requests,
             std::uint32_t depth)
    : config_(config),
      requests_(requests),
      layout_(batching::with_width(experiments::batch_limits(config.limits), requests)),
      depth_(depth),
      states_(requests.size()) {
  for (const Request& request : requests) {
    // Far more than any schedule takes: each request alone, computed again at each of its tokens.
    const std::uint64_t tokens = std::min<std::uint64_t>(request.max_new_tokens, 100);
    most_steps_ += (request.prompt.size() + tokens) * (tokens + 1);
  }
}

void Books::plan(const Scheduler& scheduler, const Slot& slot) {
  scheduler_ = &scheduler;
  if (++planned_ > most_steps_) fault("never done", "{} steps and no end", planned_);
  if (in_flight_.size() >= depth_) {
    fault("in flight", "a step is planned while {} are in flight", in_flight_.size());
  }
  check_budget(slot);
  check_pages();
  check_ends();
  Step step;
  for (std::uint32_t r = 0; r < slot.rows; ++r) {
    const Row& row = scheduler.rows()[r];
    check_row(row, r, slot);
    for (const std::int32_t page : scheduler.tables().pages(row)) {
      step.push_back({static_cast<std::uint32_t>(page), row.stay, row.request});
    }
  }
  in_flight_.push_back(std::move(step));
}

void Books::complete() {
  in_flight_.pop_front();
  check_pages();
  check_ends();
}

void Books::check_budget(const Slot& slot) const {
  if (slot.rows > config_.limits.rows) {
    fault("budget", "{} rows; {} are allowed", slot.rows, config_.limits.rows);
  }
  if (slot.tokens > config_.limits.tokens) {
    fault("budget", "{} tokens; {} are allowed", slot.tokens, config_.limits.tokens);
  }
  std::uint32_t tokens = 0;
  for (const Row& row : scheduler_->rows().first(slot.rows)) tokens += row.take;
  if (tokens != slot.tokens) fault("budget", "{} tokens; its rows take {}", slot.tokens, tokens);
}

// Every page has one owner, and one that a step in flight computes on is neither free nor
// another's.
void Books::check_pages() const {
  try {
    scheduler_->verify();
  } catch (const runtime::UsageError& error) {
    fault("page books", "{}", error.what());
  }
  const PageLedger& ledger = scheduler_->tables().ledger();
  std::vector<std::uint64_t> stay_of(ledger.pages(), 0);
  for (const Row& row : scheduler_->rows()) {
    for (const std::int32_t page : scheduler_->tables().pages(row)) {
      stay_of[static_cast<std::uint32_t>(page)] = row.stay;
    }
  }
  for (const Step& step : in_flight_) {
    for (const Use& use : step) {
      if (ledger.owner(use.page) == PageLedger::kFree) {
        fault("page in flight", "page {} is free while request {} is computed on it", use.page,
              use.request);
      }
      if (stay_of[use.page] != 0 && stay_of[use.page] != use.stay) {
        fault("page in flight", "page {} has a new owner while request {} is computed on it",
              use.page, use.request);
      }
    }
  }
}

void Books::check_row(const Row& row, std::uint32_t r, const Slot& slot) {
  if (scheduler_->result(row.request).reason != FinishReason::kNone) {
    fault("row after its end", "request {} has ended, and has a row", row.request);
  }
  const std::uint32_t chunk = config_.scheduler.chunk_tokens;
  if (chunk > 0 && row.take > chunk) {
    fault("budget", "request {} takes {} tokens; a chunk has {}", row.request, row.take, chunk);
  }
  const auto pages = scheduler_->tables().pages(row);
  const auto* table =
      slot.in + layout_.block_table() + std::size_t{r} * layout_.limits().pages_per_row;
  if (!std::ranges::equal(pages, std::span(table, pages.size()))) {
    fault("block table", "row {} has other pages than request {}", r, row.request);
  }
  const auto length = static_cast<std::uint32_t>(slot.in[layout_.kv_length() + r]);
  if (length != row.position || length > pages.size() * layout_.limits().page_tokens) {
    fault("block table", "request {} has {} entries and {} pages; its row says {}", row.request,
          row.position, pages.size(), length);
  }
  State& state = states_[row.request];
  if (row.decodes() && ++state.sampled > requests_[row.request].max_new_tokens) {
    fault("row after its end", "request {} has {} rows that sample and asks for {} tokens",
          row.request, state.sampled, requests_[row.request].max_new_tokens);
  }
}

// Who has ended gets nothing any more.
void Books::check_ends() {
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const RequestResult result = scheduler_->result(i);
    if (state.reason != FinishReason::kNone &&
        (result.reason != state.reason || result.tokens.size() != state.tokens)) {
      fault("token after its end", "request {} had ended with {} tokens, and has {}", i,
            state.tokens, result.tokens.size());
    }
    state.reason = result.reason;
    state.tokens = result.tokens.size();
  }
}

// A length is known in advance. A token that ends the request is seen while all other steps are in
// flight; a client that gives up may do so while all are.
std::size_t Books::allowed_in_vain(const Request& request, const RequestResult& result) const {
  if (result.reason == FinishReason::kLength) return 0;
  const bool by_the_clock =
      result.reason == FinishReason::kCancelled && request.cancel != batching::kNever;
  return by_the_clock ? depth_ : depth_ - 1;
}

void Books::told(const batching::TokenEvent& event) {
  State& state = states_[event.request];
  if (state.told_reason != FinishReason::kNone || event.index != state.told.size()) {
    fault("told tokens", "request {} is told token {} after {}", event.request, event.index,
          state.told.size());
  }
  state.told.push_back(event.token);
  state.told_reason = event.reason;
}

void Books::close(bool listened) {
  if (scheduler_ == nullptr) return;  // no request could be served
  if (!in_flight_.empty()) fault("in flight", "{} steps were never completed", in_flight_.size());
  check_pages();
  check_ends();
  if (const auto retired = scheduler_->tables().ledger().retired_pages(); retired > 0) {
    fault("leak", "{} pages are still retired", retired);
  }
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const RequestResult result = scheduler_->result(i);
    const std::size_t discarded = state.sampled - result.tokens.size();
    if (discarded > allowed_in_vain(requests_[i], result)) {
      fault("rows in vain", "request {} ({}) had {} rows computed in vain", i,
            to_string(result.reason), discarded);
    }
    if (!listened) continue;
    if (!std::ranges::equal(state.told, result.tokens)) {
      fault("told tokens", "request {} was told {} tokens and has {}", i, state.told.size(),
            result.tokens.size());
    }
    if (state.told_reason != FinishReason::kNone && state.told_reason != result.reason) {
      fault("told tokens", "request {} was told another end", i);
    }
  }
}

}  // namespace syncopate::driver
