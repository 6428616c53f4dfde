// The book of requests: what each has got so far, who has come, who has gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/batching/request.h"
#include "backend/batching/request_check.h"
#include "backend/models/sampling.h"

namespace syncopate::batching {

/// In place of a request: none.
inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// Called with each token on the host's thread. May be empty.
using OnToken = std::function<void(const TokenEvent&)>;

/// Not thread-safe. Does not allocate after construction, but to refuse a request, and now and then
/// when many lose their pages.
class RequestBook {
 public:
  /// `requests` must outlive the book. Those that can never be served are refused here. Throws
  /// runtime::UsageError for one that waits for itself or a later one, or as the second.
  RequestBook(std::span<const Request> requests, const models::BatchLimits& limits,
              const ModelBounds& bounds);

  const Request& request(std::uint32_t index) const { return requests_[index]; }
  const models::SamplingWords& sampling(std::uint32_t index) const { return sampling_[index]; }
  RequestResult result(std::uint32_t index) const;
  /// The step that sampled each of its tokens.
  std::vector<std::int32_t> token_steps(std::uint32_t index) const;

  std::uint32_t prompt_size(std::uint32_t index) const { return states_[index].prompt_size; }
  /// New tokens that the host knows.
  std::uint32_t known(std::uint32_t index) const { return states_[index].known; }
  std::int32_t last_token(std::uint32_t index) const {
    return states_[index].tokens[states_[index].known - 1];
  }
  /// Copies the ids at positions [begin, begin + count) of prompt and answer, all known, to `to`.
  void copy_ids(std::uint32_t index, std::uint32_t begin, std::uint32_t count,
                std::int32_t* to) const;
  bool ended(std::uint32_t index) const { return states_[index].reason != FinishReason::kNone; }
  /// When it came, after the start of the run; kNever: not yet.
  runtime::Nanos arrival(std::uint32_t index) const {
    return requests_[index].after ? states_[index].arrival : requests_[index].arrival;
  }
  /// Where a request that has come stands in the queue: the lower goes first. Unique.
  std::uint64_t rank(std::uint32_t index) const { return states_[index].rank; }

  // -- what happens ----------------------------------------------------------------------------

  /// When the next request arrives or is given up; kNever when none does, or all have ended.
  runtime::Nanos next_event() const;
  /// All that happens up to `now`; `arrive` is called with each request that then waits to be
  /// served. Returns whether some request was cancelled.
  template <class Arrive>
  bool advance(runtime::Nanos now, Arrive&& arrive) {
    bool cancelled = false;
    for (;;) {
      release(now);
      if (next_known() > now) return cancelled;
      // Who gives up at the moment of arriving has arrived.
      if (next_cancel() < next_arrival()) {
        cancelled |= cancel(cancels_[cancelled_++]);
      } else if (const std::uint32_t index = take_arrival(); welcome(index)) {
        arrive(index);
      }
    }
  }
  /// Ends a request that has not ended; false if it had.
  bool cancel(std::uint32_t index);

  struct Taken {
    std::uint32_t discarded = 0;  ///< Tokens of requests that had ended already.
    bool ended_early = false;     ///< Some request ended before its length did.
  };
  /// Takes the tokens that `step` sampled: ids[i] is the next of requests[i], or nothing if that is
  /// kNobody.
  Taken take(std::span<const std::uint32_t> requests, const std::int32_t* ids, std::int32_t step,
             const OnToken& on_token);

  void count_preemption(std::uint32_t index) { ++states_[index].preemptions; }

  bool all_ended() const { return unfinished_ == 0; }
  std::uint64_t tokens_taken() const { return tokens_taken_; }

 private:
  struct State {
    std::int32_t* tokens = nullptr;  // its answer, in tokens_
    std::uint32_t known = 0;
    std::uint32_t max_new_tokens = 0;  // as the request says; here to be near
    std::uint32_t prompt_size = 0;     // likewise
    FinishReason reason = FinishReason::kNone;
    bool may_end_early = false;        // by a token: EOS, stop or cancel_tokens
    std::int32_t last_step = -1;       // that sampled a token of it
    std::uint32_t last_run = kNobody;  // in runs_
    std::uint32_t preemptions = 0;
    std::uint32_t successor = kNobody;  // who waits for its end
    runtime::Nanos arrival = kNever;    // of who waited for another's end
    std::uint64_t rank = 0;
  };
  struct Thinking {  // its client, until it comes
    runtime::Nanos arrival;
    std::uint32_t request;
    // The first to come on top of a heap; of equal ones as listed.
    friend bool operator<(const Thinking& a, const Thinking& b) {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.request > b.request;
    }
  };

  // Tokens of a request that successive steps sampled: most requests have one run.
  struct Run {
    std::uint32_t first_token;
    std::int32_t first_step;
    std::uint32_t previous;  // the request's run before it, or kNobody
  };

  void begin_run(State& state, std::int32_t step);
  /// But for who waits for a request whose end is not told yet.
  runtime::Nanos next_known() const {
    return all_ended() ? kNever : std::min(next_arrival(), next_cancel());
  }
  runtime::Nanos next_listed() const {
    return arrived_ < arrivals_.size() ? requests_[arrivals_[arrived_]].arrival : kNever;
  }
  runtime::Nanos next_arrival() const {
    return thinking_.empty() ? next_listed() : std::min(next_listed(), thinking_.front().arrival);
  }
  std::uint32_t take_arrival();
  void release(runtime::Nanos now);
  void follow(std::uint32_t index);
  runtime::Nanos next_cancel() const {
    return cancelled_ < cancels_.size() ? requests_[cancels_[cancelled_]].cancel : kNever;
  }
  void queue(std::span<const std::uint32_t> served);
  void name(std::span<const std::uint32_t> served);
  bool welcome(std::uint32_t index);
  void refuse(std::uint32_t index, std::string why);
  void end(std::uint32_t index, FinishReason reason);
  FinishReason reason_after(const State& state, const Request& request) const;
  bool finish(std::uint32_t index, const OnToken& on_token);

  const std::span<const Request> requests_;
  std::vector<State> states_;
  std::vector<models::SamplingWords> sampling_;
  std::vector<std::int32_t> tokens_;
  std::vector<Run> runs_;
  std::vector<std::string> errors_;  // by request; empty unless one was refused

  std::vector<std::uint32_t> arrivals_, cancels_;  // requests in the order of those times
  std::size_t arrived_ = 0, cancelled_ = 0;
  std::vector<std::uint32_t> released_;  // for whose clients' sake a request has ended
  std::vector<Thinking> thinking_;       // a heap
  std::uint32_t come_ = 0;
  std::vector<std::uint32_t> name_of_;  // by request: the number of its id, kNoName without one
  std::vector<std::uint32_t> named_;    // by that number: the request that has it, or kNobody

  std::uint32_t unfinished_ = 0;
  std::uint64_t tokens_taken_ = 0;
};

}  // namespace syncopate::batching
