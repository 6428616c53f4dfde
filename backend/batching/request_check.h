// What a request must be to be served at all.
#pragma once

#include <cstdint>
#include <string>

#include "backend/batching/request.h"
#include "backend/models/batch_layout.h"

namespace syncopate::batching {

/// What the model can take.
struct ModelBounds {
  std::uint32_t vocab = UINT32_MAX;
  std::uint32_t max_positions = UINT32_MAX;
};

/// KV entries at a request's end. The last token sampled is never an input: it has no entry.
std::uint64_t entries_at_end(const Request& request);

/// Why the request can never be served, as a phrase that follows "request N"; empty if it can.
std::string refusal(const Request& request, const models::BatchLimits& limits,
                    const ModelBounds& bounds);

}  // namespace syncopate::batching
