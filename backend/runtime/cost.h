// What an operation or host span is, in terms from which virtual time can be charged. Real runtimes
// ignore costs: they measure.
#pragma once

#include <cstdint>

#include "backend/runtime/handles.h"

namespace syncopate::runtime {

/// The kind of work. A hardware profile has one entry for each kind that a program uses.
enum class Work : std::uint8_t {
  kNone,       ///< Costs only `fixed_ns`.
  kForward,    ///< Device: a transformer's forward pass with sampling over a ragged batch.
  kCarry,      ///< Device: gather of the previous step's ids into this step's inputs.
  kPrepare,    ///< Host: schedule a step and fill its inputs.
  kUpdate,     ///< Host: take a step's results and update the requests.
  kAttention,  ///< Device: attention alone, over whole sequences.
  kRelayout,   ///< Device: rows copied from one layout into another by a kernel.
  kExchange,   ///< Device: a collective's kernel that moves data between devices.
};
inline constexpr int kWorkKinds = 8;

struct Cost {
  Work work = Work::kNone;
  std::uint32_t rows = 0;           ///< Requests in the batch.
  std::uint32_t tokens = 0;         ///< Tokens computed: one a decode row, many a prefill row.
  std::uint32_t changed_rows = 0;   ///< Rows that joined, left or moved since the last step.
  std::uint32_t max_kv_tokens = 0;  ///< The longest row's KV length.
  std::uint64_t kv_tokens = 0;      ///< KV entries read, summed over the rows.
  /// Pairs of a token computed and a KV entry that it attends to: kv_tokens for rows that decode,
  /// about half the square of its length for a prompt.
  std::uint64_t attention_pairs = 0;
  std::uint64_t bytes = 0;  ///< Moved: by an exchange, sent or received, whichever is more.
  Nanos fixed_ns = 0;       ///< Added as it is.
};

}  // namespace syncopate::runtime
