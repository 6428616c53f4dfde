// Requests: what a client asks for and what it gets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::batching {

struct Request {
  std::vector<std::int32_t> prompt;  ///< Token ids, at least one.
  std::uint32_t max_new_tokens = 1;  ///< At least one.
  std::vector<std::int32_t> eos;     ///< Ids that end the request; the id itself is kept.
};

enum class FinishReason : std::uint8_t {
  kNone,    ///< Still going, or the run was interrupted.
  kLength,  ///< max_new_tokens were generated.
  kEos,
};

struct RequestResult {
  std::span<const std::int32_t> tokens;  ///< Owned by the Batcher.
  FinishReason reason = FinishReason::kNone;
  std::int32_t first_step = -1;  ///< The step that sampled its first token …
  std::int32_t last_step = -1;   ///< … and its last.
};

/// What a step was, beside what the timeline says of it.
struct StepRecord {
  std::uint32_t slot = 0;
  std::uint32_t rows = 0;
  std::uint32_t tokens = 0;
  std::uint32_t discarded = 0;        ///< Rows computed in vain: their request had ended by EOS.
  std::uint32_t changed_rows = 0;     ///< Rows that joined, left or moved at its planning.
  std::uint64_t kv_tokens = 0;        ///< KV entries that its rows attend to.
  std::uint64_t attention_pairs = 0;  ///< Pairs of a token and an entry (runtime::Cost).
  runtime::Nanos done = 0;            ///< When its tokens were known to the host.
};

}  // namespace syncopate::batching
