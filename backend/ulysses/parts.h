// Parts of a pass alone, so that a pass can be held against what it is made of.
#pragma once

#include <cstdint>

#include "backend/runtime/host.h"
#include "backend/ulysses/rank_pass.h"

namespace syncopate::ulysses {

enum class Part : std::uint8_t {
  kInput,       ///< The scatters of all bands.
  kAttention,   ///< The attention of all bands.
  kOutput,      ///< The gathers of all bands.
  kFirstInput,  ///< The first band's scatter.
  kLastOutput,  ///< The last band's gather.
};

/// "input", "attention", "output", "first_input" or "last_output".
const char* to_string(Part part);

/// Enqueues a part, one band after the other. Attention reads what the last scatters left, a gather
/// takes what the last attention left. A pass is ordered by its scatters; with one of these the
/// ranks must meet before and after it.
void enqueue_part(runtime::Host& host, runtime::Stream stream, RankPass& pass, Part part);

}  // namespace syncopate::ulysses
