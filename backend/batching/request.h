// Requests: what a client asks for and what it gets.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/models/sampling.h"
#include "backend/runtime/handles.h"

namespace syncopate::batching {

/// A time that never comes.
inline constexpr runtime::Nanos kNever = std::numeric_limits<runtime::Nanos>::max();

struct Request {
  std::vector<std::int32_t> prompt;  ///< Token ids, at least one.
  std::uint32_t max_new_tokens = 1;  ///< At least one.
  std::vector<std::int32_t> eos;     ///< Ids that end the request; the id itself is kept.
  std::vector<std::vector<std::int32_t>> stop;  ///< Sequences of ids that end it; they are kept.
  models::Sampling sampling;
  std::int32_t priority = 0;   ///< The higher goes first; among equals, who came first.
  runtime::Nanos arrival = 0;  ///< After the start of the run; not with `after`.
  /// The request before it in the list for whose end its client waits, however that ends; it then
  /// comes `think` later. None: it comes by itself. Of a request at most one may wait.
  std::optional<std::uint32_t> after;
  runtime::Nanos think = 0;
  runtime::Nanos cancel = kNever;   ///< When the client gives up, likewise.
  std::uint32_t cancel_tokens = 0;  ///< It gives up once it has this many tokens; 0: it does not.
  /// The client's name for it: may be used again once the request that has it is done. None: it
  /// needs no name.
  std::optional<std::uint64_t> id;
};

enum class FinishReason : std::uint8_t {
  kNone,    ///< Still going, or the run was interrupted.
  kLength,  ///< max_new_tokens were generated.
  kEos,
  kStop,  ///< A stop sequence was generated.
  kCancelled,
  kRefused,  ///< It can never be served: RequestResult::error says why.
};
/// "none", "length", "eos", "stop", "cancelled" or "refused".
const char* to_string(FinishReason reason);

struct RequestResult {
  std::span<const std::int32_t> tokens;  ///< Owned by the Batcher.
  FinishReason reason = FinishReason::kNone;
  std::string_view error;         ///< Why it was refused; else empty. Owned by the Batcher.
  std::uint32_t preemptions = 0;  ///< How often it lost its pages and was computed again.
};

/// A token, as it becomes known to the host: a copy, which stays as it is.
struct TokenEvent {
  std::uint32_t request = 0;
  std::uint32_t index = 0;  ///< Among the request's new tokens, from 0.
  std::int32_t token = 0;
  FinishReason reason = FinishReason::kNone;  ///< kNone: more may come.
};

/// What a step was, beside what the timeline says of it.
struct StepRecord {
  std::uint32_t slot = 0;
  std::uint32_t rows = 0;
  std::uint32_t tokens = 0;
  std::uint32_t prefill_rows = 0;     ///< Of the rows, those that compute prompts or recompute.
  std::uint32_t changed_rows = 0;     ///< Rows that joined, left or moved at its planning.
  std::uint32_t discarded = 0;        ///< Rows computed in vain: their request had ended meanwhile.
  std::uint32_t preempted = 0;        ///< Requests that lost their pages at its planning.
  std::uint64_t kv_tokens = 0;        ///< KV entries that its rows attend to.
  std::uint64_t attention_pairs = 0;  ///< Pairs of a token and an entry (runtime::Cost).
  runtime::Nanos done = 0;            ///< When its tokens were known to the host.
};

}  // namespace syncopate::batching
