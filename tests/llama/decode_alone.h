// What a model generates for one request: alone, token by token, in one page that holds it whole.
// No batch, no strategy, no block table to speak of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/batching/request.h"
#include "tests/llama/paged_runner.h"

namespace syncopate::models::llama {

struct Decoded {
  Ids tokens;
  /// How far the largest logit was ahead of the second one, where that was least.
  float smallest_gap = std::numeric_limits<float>::infinity();
};

inline Decoded decode_alone(const LlamaModel& model, const batching::Request& request) {
  const auto length = static_cast<std::uint32_t>(request.prompt.size()) + request.max_new_tokens;
  PagedRunner runner(
      model, {.rows = 1, .tokens = 1, .pages_per_row = 1, .page_tokens = length, .pages = 1});
  std::int32_t position = 0;
  const auto logits_after = [&](std::int32_t id) {
    return runner.step({{{0}, position++, {id}}})[0];
  };
  std::vector<float> logits;
  for (const std::int32_t id : request.prompt) logits = logits_after(id);

  Decoded decoded;
  for (;;) {
    const auto largest = std::max_element(logits.begin(), logits.end());
    const auto id = static_cast<std::int32_t>(largest - logits.begin());
    decoded.tokens.push_back(id);
    const float value = *largest;
    *largest = -std::numeric_limits<float>::infinity();
    const float second = *std::max_element(logits.begin(), logits.end());
    decoded.smallest_gap = std::min(decoded.smallest_gap, value - second);
    const bool ends = std::find(request.eos.begin(), request.eos.end(), id) != request.eos.end();
    if (ends || decoded.tokens.size() == request.max_new_tokens) return decoded;
    logits = logits_after(id);
  }
}

}  // namespace syncopate::models::llama
