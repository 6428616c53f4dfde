#include "experiments/run/workload.h"

namespace syncopate::experiments {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014). The standard library's distributions differ between
/// implementations; this one does not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Even over [0, bound), bound <= 2^32, up to a bias of bound / 2^32.
  std::uint32_t below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<std::uint32_t>(((z >> 32) * bound) >> 32);
  }
  std::uint32_t in(const Lengths& range) {
    return range.min + below(std::uint64_t{range.max} - range.min + 1);
  }

 private:
  std::uint64_t state_;
};

void draw_prompt(Random& random, std::uint64_t length, std::uint32_t vocab,
                 std::vector<std::int32_t>& prompt) {
  prompt.resize(length);
  for (std::int32_t& id : prompt) id = static_cast<std::int32_t>(random.below(vocab));
}

std::vector<std::int32_t> ids(const std::optional<std::uint32_t>& eos) {
  if (!eos) return {};
  return {static_cast<std::int32_t>(*eos)};
}

}  // namespace

std::vector<batching::Request> make_requests(const RequestsConfig& config, std::uint32_t vocab) {
  std::vector<batching::Request> requests;
  if (const auto* c = std::get_if<GeneratedRequests>(&config)) {
    requests.reserve(c->count);
    Random random(c->seed);
    for (std::uint32_t i = 0; i < c->count; ++i) {
      batching::Request& request = requests.emplace_back();
      const std::uint32_t length = random.in(c->prompt_tokens);
      request.max_new_tokens = random.in(c->max_new_tokens);
      request.eos = ids(c->eos);
      draw_prompt(random, length, vocab, request.prompt);
    }
    return requests;
  }
  const auto& list = std::get<std::vector<RequestConfig>>(config);
  for (const RequestConfig& c : list) {
    batching::Request request;
    request.max_new_tokens = c.max_new_tokens;
    request.eos = ids(c.eos);
    if (c.prompt) {
      request.prompt.assign(c.prompt->begin(), c.prompt->end());
    } else {
      Random random(requests.size());
      draw_prompt(random, c.prompt_length(), vocab, request.prompt);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace syncopate::experiments
