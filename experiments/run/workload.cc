#include "experiments/run/workload.h"

#include <algorithm>
#include <cmath>

#include "experiments/config/length_file.h"
#include "experiments/config/request_trace.h"
#include "experiments/run/draws.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

/// Draws lengths as their description has it.
class LengthDraws {
 public:
  explicit LengthDraws(const Lengths& range) : range_(range) {
    if (range.file) counted_ = read_lengths(*range.file);
  }

  std::uint32_t next(Draws& draws) const {
    if (!counted_.empty()) {
      return std::clamp(counted_[draws.below(counted_.size())], range_.min, range_.max);
    }
    if (!range_.median) {
      return range_.min + draws.below(std::uint64_t{range_.max} - range_.min + 1);
    }
    const double drawn = *range_.median * exact_exp(*range_.sigma * draws.normal());
    return static_cast<std::uint32_t>(std::clamp<double>(drawn + 0.5, range_.min, range_.max));
  }

 private:
  Lengths range_;
  std::vector<std::uint32_t> counted_;
};

Nanos nanos(double ms) { return std::llround(ms * kNanosPerMs); }

/// Draws of their own: when requests come does not change what they ask.
class Arrivals {
 public:
  explicit Arrivals(const GeneratedRequests& c) : config_(c), draws_(c.seed ^ 0x6172726976616c73) {}

  /// Says of the next request when it comes. The first comes after a gap as well.
  void next(batching::Request& request) {
    const std::uint32_t number = requests_++;
    if (!config_.arrivals || config_.arrivals->kind != ArrivalKind::kClosed) {
      request.arrival = by_itself(number);
      return;
    }
    const std::uint32_t clients = config_.arrivals->clients.value();
    if (number < clients) return;  // at the start
    request.after = number - clients;
    request.think = nanos(config_.arrivals->think_ms.value_or(0));
  }

 private:
  Nanos by_itself(std::uint32_t number) {
    if (!config_.arrivals) return std::llround(config_.interval_ms * kNanosPerMs) * number;
    const ArrivalsConfig& c = *config_.arrivals;
    seconds_ += gap(c) / c.rate_per_s.value();
    return std::llround(seconds_ * kNanosPerSecond);
  }
  double gap(const ArrivalsConfig& c) {
    switch (c.kind) {
      case ArrivalKind::kConstant:
        return 1;
      case ArrivalKind::kPoisson:
        return draws_.exponential();
      case ArrivalKind::kGamma:
        return draws_.gamma(*c.cv);
      case ArrivalKind::kClosed:
        break;
    }
    return 1;
  }

  const GeneratedRequests& config_;
  Draws draws_;
  std::uint32_t requests_ = 0;
  double seconds_ = 0;
};

void draw_prompt(Draws& draws, std::uint64_t length, std::uint32_t vocab,
                 std::vector<std::int32_t>& prompt) {
  prompt.resize(length);
  for (std::int32_t& id : prompt) id = static_cast<std::int32_t>(draws.below(vocab));
}

std::uint32_t at_least_0(std::int64_t count) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(count, 0));
}

/// But for its prompt, length and arrival.
batching::Request common(const GeneratedRequests& c, std::uint32_t number) {
  batching::Request request;
  if (c.eos) request.eos = {static_cast<std::int32_t>(*c.eos)};
  request.stop = c.stop;
  request.sampling = c.sampling;
  request.sampling.seed += number;
  return request;
}

std::vector<batching::Request> drawn(const GeneratedRequests& c, std::uint32_t vocab) {
  std::vector<batching::Request> requests;
  requests.reserve(c.count.value());
  Draws draws(c.seed);
  Arrivals arrivals(c);
  const LengthDraws prompts(c.prompt_tokens.value());
  const LengthDraws answers(c.max_new_tokens.value());
  for (std::uint32_t i = 0; i < *c.count; ++i) {
    batching::Request& request = requests.emplace_back(common(c, i));
    const std::uint32_t prompt = prompts.next(draws);
    request.max_new_tokens = answers.next(draws);
    draw_prompt(draws, prompt, vocab, request.prompt);
    arrivals.next(request);
  }
  return requests;
}

std::vector<batching::Request> traced(const GeneratedRequests& c, std::uint32_t vocab) {
  std::vector<TracedRequest> rows = read_request_trace(c.trace.value());
  if (c.count && *c.count < rows.size()) rows.resize(*c.count);
  const double scale = c.rate_scale.value_or(1);
  std::vector<batching::Request> requests;
  requests.reserve(rows.size());
  Draws draws(c.seed);
  for (const TracedRequest& row : rows) {
    batching::Request& request =
        requests.emplace_back(common(c, static_cast<std::uint32_t>(requests.size())));
    request.max_new_tokens = row.output_tokens;
    draw_prompt(draws, row.prompt_tokens, vocab, request.prompt);
    request.arrival = std::llround(static_cast<double>(row.arrival) / scale);
  }
  return requests;
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
    Draws draws(number);
    draw_prompt(draws, at_least_0(c.prompt_tokens.value()), vocab, request.prompt);
  }
  return request;
}

}  // namespace

std::vector<batching::Request> make_requests(const RequestsConfig& config, std::uint32_t vocab) {
  if (const auto* c = std::get_if<GeneratedRequests>(&config)) {
    return c->trace ? traced(*c, vocab) : drawn(*c, vocab);
  }
  std::vector<batching::Request> requests;
  for (const RequestConfig& c : std::get<std::vector<RequestConfig>>(config)) {
    requests.push_back(written(c, static_cast<std::uint32_t>(requests.size()), vocab));
  }
  return requests;
}

}  // namespace syncopate::experiments
