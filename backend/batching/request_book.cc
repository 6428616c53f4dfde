#include "backend/batching/request_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

constexpr std::uint32_t kNoName = UINT32_MAX;

}  // namespace

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kRefused:
      return "refused";
  }
  return "";
}

RequestBook::RequestBook(std::span<const Request> requests, const models::BatchLimits& limits,
                         const ModelBounds& bounds)
    : requests_(requests),
      states_(requests.size()),
      sampling_(requests.size()),
      unfinished_(static_cast<std::uint32_t>(requests.size())) {
  for (std::uint32_t i = 0; i < requests.size(); ++i) follow(i);
  const auto waiting = static_cast<std::size_t>(
      std::ranges::count_if(requests, [](const Request& r) { return r.after.has_value(); }));
  released_.reserve(waiting);
  thinking_.reserve(waiting);
  std::vector<std::uint32_t> served;
  served.reserve(requests.size());
  std::size_t tokens = 0;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (std::string why = refusal(request, limits, bounds); !why.empty()) {
      refuse(i, std::move(why));
      continue;
    }
    served.push_back(i);
    sampling_[i] = models::encode(request.sampling);
    tokens += request.max_new_tokens;
  }
  tokens_.resize(tokens);
  runs_.reserve(2 * served.size());
  std::size_t next = 0;
  for (const std::uint32_t i : served) {
    const Request& request = requests[i];
    State& state = states_[i];
    state.tokens = tokens_.data() + next;
    state.max_new_tokens = request.max_new_tokens;
    state.prompt_size = static_cast<std::uint32_t>(request.prompt.size());
    state.may_end_early =
        !request.eos.empty() || !request.stop.empty() || request.cancel_tokens > 0;
    next += request.max_new_tokens;
  }
  queue(served);
  name(served);
}

void RequestBook::follow(std::uint32_t index) {
  const auto& after = requests_[index].after;
  if (!after) return;
  if (*after >= index || states_[*after].successor != kNobody) {
    throw runtime::UsageError(fmt::format(
        "request {} waits for request {}, which {}", index, *after,
        *after >= index ? "does not stand before it" : "another one waits for already"));
  }
  states_[*after].successor = index;
}

void RequestBook::queue(std::span<const std::uint32_t> served) {
  const auto by_time = [this](runtime::Nanos Request::* time) {
    return [this, time](std::uint32_t a, std::uint32_t b) {
      return requests_[a].*time < requests_[b].*time;
    };
  };
  std::ranges::copy_if(served, std::back_inserter(arrivals_),
                       [this](std::uint32_t i) { return !requests_[i].after; });
  std::ranges::stable_sort(arrivals_, by_time(&Request::arrival));
  std::ranges::copy_if(served, std::back_inserter(cancels_),
                       [this](std::uint32_t i) { return requests_[i].cancel != kNever; });
  std::ranges::stable_sort(cancels_, by_time(&Request::cancel));
}

std::uint32_t RequestBook::take_arrival() {
  if (next_listed() <= next_arrival()) {
    return arrivals_[arrived_++];
  }
  const auto [arrival, index] = thinking_.front();
  std::pop_heap(thinking_.begin(), thinking_.end());
  thinking_.pop_back();
  states_[index].arrival = arrival;
  return index;
}

// Clients learn of an end when the host says what time it is: at the next step.
void RequestBook::release(runtime::Nanos now) {
  for (const std::uint32_t index : released_) {
    if (ended(index)) continue;  // refused, or given up
    thinking_.push_back({now + requests_[index].think, index});
    std::push_heap(thinking_.begin(), thinking_.end());
  }
  released_.clear();
}

void RequestBook::name(std::span<const std::uint32_t> served) {
  std::vector<std::uint64_t> ids;
  for (const std::uint32_t i : served) {
    if (requests_[i].id) ids.push_back(*requests_[i].id);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  name_of_.assign(requests_.size(), kNoName);
  for (const std::uint32_t i : served) {
    if (!requests_[i].id) continue;
    name_of_[i] =
        static_cast<std::uint32_t>(std::ranges::lower_bound(ids, *requests_[i].id) - ids.begin());
  }
  named_.assign(ids.size(), kNobody);
}

RequestResult RequestBook::result(std::uint32_t index) const {
  const State& state = states_[index];
  RequestResult result;
  result.tokens = {state.tokens, state.known};
  result.reason = state.reason;
  if (state.reason == FinishReason::kRefused) result.error = errors_[index];
  result.preemptions = state.preemptions;
  return result;
}

std::vector<std::int32_t> RequestBook::token_steps(std::uint32_t index) const {
  const State& state = states_[index];
  std::vector<std::int32_t> steps(state.known);
  std::uint32_t end = state.known;
  for (std::uint32_t r = state.last_run; r != kNobody; r = runs_[r].previous) {
    const Run& run = runs_[r];
    std::iota(steps.begin() + run.first_token, steps.begin() + end, run.first_step);
    end = run.first_token;
  }
  return steps;
}

void RequestBook::begin_run(State& state, std::int32_t step) {
  runs_.push_back({state.known - 1, step, state.last_run});
  state.last_run = static_cast<std::uint32_t>(runs_.size() - 1);
}

void RequestBook::copy_ids(std::uint32_t index, std::uint32_t begin, std::uint32_t count,
                           std::int32_t* to) const {
  const std::vector<std::int32_t>& prompt = requests_[index].prompt;
  const std::uint32_t end = begin + count;
  const auto from_prompt = static_cast<std::uint32_t>(std::min<std::size_t>(end, prompt.size()));
  if (begin < from_prompt) to = std::copy(&prompt[begin], prompt.data() + from_prompt, to);
  const std::uint32_t size = states_[index].prompt_size;
  for (std::uint32_t p = std::max(begin, size); p < end; ++p)
    *to++ = states_[index].tokens[p - size];
}

runtime::Nanos RequestBook::next_event() const { return released_.empty() ? next_known() : 0; }

// Who is served first: the higher priority, then who came first.
bool RequestBook::welcome(std::uint32_t index) {
  if (ended(index)) return false;  // cancelled before it came
  const auto behind = static_cast<std::uint64_t>(INT64_C(0x7fffffff) - requests_[index].priority);
  states_[index].rank = behind << 32 | come_++;
  const std::uint32_t name = name_of_[index];
  if (name == kNoName) return true;
  if (const std::uint32_t other = named_[name]; other != kNobody && !ended(other)) {
    refuse(index, fmt::format("has the id {} of request {}, which is still being served",
                              requests_[index].id.value(), other));
    return false;
  }
  named_[name] = index;
  return true;
}

void RequestBook::refuse(std::uint32_t index, std::string why) {
  if (errors_.empty()) errors_.resize(requests_.size());
  errors_[index] = std::move(why);
  end(index, FinishReason::kRefused);
}

void RequestBook::end(std::uint32_t index, FinishReason reason) {
  states_[index].reason = reason;
  --unfinished_;
  if (states_[index].successor != kNobody) released_.push_back(states_[index].successor);
}

bool RequestBook::cancel(std::uint32_t index) {
  if (ended(index)) return false;
  end(index, FinishReason::kCancelled);
  return true;
}

// Why the request ends with the token that it took last, other than for its length.
FinishReason RequestBook::reason_after(const State& state, const Request& request) const {
  const std::span<const std::int32_t> tokens{state.tokens, state.known};
  if (std::ranges::find(request.eos, tokens.back()) != request.eos.end()) return FinishReason::kEos;
  for (const auto& sequence : request.stop) {
    if (sequence.size() <= tokens.size() &&
        std::ranges::equal(sequence, tokens.last(sequence.size()))) {
      return FinishReason::kStop;
    }
  }
  if (state.known == request.cancel_tokens) return FinishReason::kCancelled;
  return FinishReason::kNone;
}

// A loop of every step, so what it needs is in locals, and what most rows do not need stands apart.
RequestBook::Taken RequestBook::take(std::span<const std::uint32_t> requests,
                                     const std::int32_t* ids, std::int32_t step,
                                     const OnToken& on_token) {
  State* const states = states_.data();
  const bool told = static_cast<bool>(on_token);
  Taken taken;
  std::uint32_t nobodies = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint32_t index = requests[i];
    if (index == kNobody) {
      ++nobodies;
      continue;
    }
    State& state = states[index];
    if (state.reason != FinishReason::kNone) {  // it ended while the step was in flight
      ++taken.discarded;
      continue;
    }
    const std::uint32_t known = state.known;
    state.known = known + 1;
    state.tokens[known] = ids[i];
    if (step != state.last_step + 1 || known == 0) begin_run(state, step);
    state.last_step = step;
    if (told || state.may_end_early || known + 1 == state.max_new_tokens) {
      taken.ended_early |= finish(index, on_token);
    }
  }
  tokens_taken_ += requests.size() - nobodies - taken.discarded;
  return taken;
}

// After a request's new token: ends it if that was its last. Returns whether it ended early.
bool RequestBook::finish(std::uint32_t index, const OnToken& on_token) {
  const State& state = states_[index];
  FinishReason reason = FinishReason::kNone;
  if (state.may_end_early) reason = reason_after(state, requests_[index]);
  const bool early = reason != FinishReason::kNone;
  if (!early && state.known == state.max_new_tokens) reason = FinishReason::kLength;
  if (reason != FinishReason::kNone) end(index, reason);
  if (on_token) on_token({index, state.known - 1, state.tokens[state.known - 1], reason});
  return early;
}

}  // namespace syncopate::batching
