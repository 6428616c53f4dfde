#include "experiments/run/workload.h"

#include <algorithm>
#include <cmath>

#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

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

Nanos nanos(double ms) { return std::llround(ms * kNanosPerMs); }

std::uint32_t at_least_0(std::int64_t count) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(count, 0));
}

batching::Request drawn(const GeneratedRequests& c, std::uint32_t number, std::uint32_t vocab,
                        Random& random) {
  batching::Request request;
  const std::uint32_t length = random.in(c.prompt_tokens);
  request.max_new_tokens = random.in(c.max_new_tokens);
  if (c.eos) request.eos = {static_cast<std::int32_t>(*c.eos)};
  request.stop = c.stop;
  request.sampling = c.sampling;
  request.sampling.seed += number;
  request.arrival = nanos(c.interval_ms) * number;
  draw_prompt(random, length, vocab, request.prompt);
  return request;
}

batching::Request written(const RequestConfig& c, std::uint32_t number, std::uint32_t vocab) {
  batching::Request request;
  request.id = c.id;
  request.max_new_tokens = at_least_0(c.max_new_tokens);
  if (c.eos) request.eos = {*c.eos};
  request.stop = c.stop;
  request.sampling = c.sampling;
  request.priority = c.priority;
  request.arrival = nanos(c.arrival_ms);
  if (c.cancel_ms) request.cancel = nanos(*c.cancel_ms);
  request.cancel_tokens = c.cancel_tokens;
  if (c.prompt) {
    request.prompt = *c.prompt;
  } else {
    Random random(number);
    draw_prompt(random, at_least_0(c.prompt_tokens.value()), vocab, request.prompt);
  }
  return request;
}

}  // namespace

std::vector<batching::Request> make_requests(const RequestsConfig& config, std::uint32_t vocab) {
  std::vector<batching::Request> requests;
  if (const auto* c = std::get_if<GeneratedRequests>(&config)) {
    requests.reserve(c->count);
    Random random(c->seed);
    for (std::uint32_t i = 0; i < c->count; ++i) requests.push_back(drawn(*c, i, vocab, random));
    return requests;
  }
  for (const RequestConfig& c : std::get<std::vector<RequestConfig>>(config)) {
    requests.push_back(written(c, static_cast<std::uint32_t>(requests.size()), vocab));
  }
  return requests;
}

}  // namespace syncopate::experiments
