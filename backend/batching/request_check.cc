#include "backend/batching/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

// The first id that is not of the vocabulary, or null.
const std::int32_t* outside(std::span<const std::int32_t> ids, std::uint32_t vocab) {
  const auto found = std::find_if(ids.begin(), ids.end(), [vocab](std::int32_t id) {
    return id < 0 || static_cast<std::uint32_t>(id) >= vocab;
  });
  return found == ids.end() ? nullptr : &*found;
}

std::string ids_refusal(const Request& request, std::uint32_t vocab) {
  const auto text = [vocab](const char* what, std::int32_t id) {
    return fmt::format("has {} {}, outside the vocabulary of {}", what, id, vocab);
  };
  if (const auto* id = outside(request.prompt, vocab)) return text("the prompt id", *id);
  if (const auto* id = outside(request.eos, vocab)) return text("the EOS id", *id);
  for (const auto& sequence : request.stop) {
    if (sequence.empty()) return "has an empty stop sequence";
    if (const auto* id = outside(sequence, vocab)) return text("the stop id", *id);
  }
  return {};
}

}  // namespace

std::uint64_t entries_at_end(const Request& request) {
  return std::uint64_t{request.prompt.size()} + request.max_new_tokens - 1;
}

std::string refusal(const Request& request, const models::BatchLimits& limits,
                    const ModelBounds& bounds) {
  if (request.prompt.empty()) return "has an empty prompt";
  if (request.max_new_tokens == 0) return "asks for no token";
  const std::uint64_t total = std::uint64_t{request.prompt.size()} + request.max_new_tokens;
  if (total > bounds.max_positions) {
    return fmt::format("takes {} tokens; the model has {} positions", total, bounds.max_positions);
  }
  const std::uint64_t needs =
      (entries_at_end(request) + limits.page_tokens - 1) / limits.page_tokens;
  const std::uint32_t most = std::min(limits.pages_per_row, limits.pages);
  if (needs > most) {
    return fmt::format("needs {} KV pages at its end; {} is the most that it can have", needs,
                       most);
  }
  if (std::string why = ids_refusal(request, bounds.vocab); !why.empty()) return why;
  try {
    models::encode(request.sampling);
  } catch (const runtime::UsageError& error) {
    return fmt::format("has bad sampling: {}", error.what());
  }
  return {};
}

}  // namespace syncopate::batching
