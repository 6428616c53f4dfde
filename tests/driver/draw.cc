#include "tests/driver/draw.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/random.h"
#include "tests/batching/variants.h"
#include "tests/driver/oracle.h"

namespace syncopate::driver {
namespace {

using experiments::BatchingConfig;
using experiments::HashModelConfig;
using experiments::LimitsConfig;
using experiments::RequestConfig;
using experiments::StrategyConfig;
using experiments::StrategyKind;

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : seed_(seed), random_(seed, 0) {}

  Case draw() {
    drawn_.seed = seed_;
    drawn_.config.runtime = {.kind = experiments::RuntimeKind::kSim,
                             .profile = "machine.yaml",
                             .effects = true,
                             .seed = seed_,
                             .chaos = likely(75)};
    draw_model();
    draw_strategies();
    draw_requests();
    draw_limits();
    drawn_.config.host.extra_us = likely(20) ? in(1, 200) : 0;
    drawn_.config.output.tokens = true;
    drawn_.listens = likely(50);
    drawn_.checks_races = likely(12);
    return std::move(drawn_);
  }

 private:
  std::uint32_t in(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_.next() % (high - low + 1));
  }
  bool likely(std::uint32_t percent) { return in(1, 100) <= percent; }
  double fraction() { return in(1, 1000) / 1000.0; }
  std::int32_t id() { return static_cast<std::int32_t>(in(0, model_.vocab - 1)); }
  /// A time of the run, in whole microseconds.
  double ms() { return in(0, span_us_) / 1000.0; }

  void draw_model() {
    model_ = {
        .vocab = in(2, 40), .seed = in(1, 1000), .max_positions = likely(10) ? in(8, 48) : 4096};
    drawn_.config.model = model_;
  }

  void draw_strategies() {
    drawn_.config.strategy = {
        .kind = StrategyKind::kAsync, .slots = in(2, 4), .graphs = likely(60)};
    drawn_.synchronous = {
        .kind = likely(50) ? StrategyKind::kDefaultStream : StrategyKind::kOrdered,
        .slots = 1,
        .graphs = likely(50)};
    drawn_.config.scheduler = {.policy = likely(50) ? experiments::TokenPolicy::kDecodeFirst
                                                    : experiments::TokenPolicy::kPrefillFirst,
                               .chunk_tokens = likely(40) ? in(1, 8) : 0};
  }

  void draw_requests() {
    longest_prompt_ = likely(50) ? in(1, 40) : in(1, 10);
    longest_answer_ = in(1, 24);
    span_us_ = 100U << in(0, 9);  // to 51 ms
    const bool arrive = likely(60), rank = likely(30), have_names = likely(25), sample = likely(50);
    const std::uint32_t names = in(1, 3);
    std::vector<RequestConfig> requests(in(1, 12));
    for (RequestConfig& request : requests) {
      request.prompt.emplace(in(1, longest_prompt_));
      for (std::int32_t& each : *request.prompt) each = id();
      request.max_new_tokens = in(1, longest_answer_);
      if (sample && likely(60)) draw_sampling(request.sampling);
      if (arrive) request.arrival_ms = ms();
      if (rank) request.priority = static_cast<std::int32_t>(in(0, 3)) - 1;
      if (have_names && likely(80)) request.id = in(1, names);
      draw_ends(request);
      if (likely(8)) request.cancel_ms = ms();
      if (likely(12)) request.cancel_tokens = in(1, longest_answer_);
      if (likely(3)) spoil(request);
    }
    drawn_.config.requests = std::move(requests);
  }

  void draw_sampling(models::Sampling& sampling) {
    if (likely(80)) sampling.temperature = 0.2 + 2 * fraction();
    if (likely(30)) sampling.top_k = in(1, model_.vocab);
    if (likely(30)) sampling.top_p = fraction();
    if (likely(30)) sampling.min_p = fraction() / 2;
    if (likely(50)) sampling.repetition_penalty = 0.5 + 2 * fraction();
    sampling.seed = random_.next() >> 12;
  }

  /// Ids and sequences that the answer really holds, as a rule: drawn blindly, few would be met.
  void draw_ends(RequestConfig& request) {
    if (likely(60)) return;
    const std::vector<std::int32_t> answer = unended_answer(model_, request);
    const auto start = in(0, static_cast<std::uint32_t>(answer.size()) - 1);
    if (likely(50)) request.eos = likely(70) ? answer[start] : id();
    for (std::uint32_t i = likely(50) ? in(1, 2) : 0; i > 0; --i) {
      const auto from = in(0, static_cast<std::uint32_t>(answer.size()) - 1);
      const auto size = std::min<std::size_t>(in(1, 4), answer.size() - from);
      const auto first = answer.begin() + from;
      request.stop.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
      if (likely(20)) request.stop.back().push_back(id());
    }
  }

  /// Makes it one that can never be served.
  void spoil(RequestConfig& request) {
    switch (in(0, 4)) {
      case 0:
        request.prompt->clear();
        break;
      case 1:
        request.max_new_tokens = 0;
        break;
      case 2:
        request.max_new_tokens = -7;
        break;
      case 3:
        request.prompt->back() = static_cast<std::int32_t>(model_.vocab);
        break;
      default:
        request.max_new_tokens = 1'000'000;
    }
  }

  /// From loose to so tight that prompts are cut and requests lose their pages. Now and then
  /// tighter than the longest request, which is then refused.
  void draw_limits() {
    LimitsConfig& limits = drawn_.config.limits;
    limits.rows = in(1, 6);
    limits.tokens = limits.rows + (likely(50) ? in(0, 6) : in(0, 60));
    limits.page_tokens = in(1, 8);
    const std::uint32_t longest = longest_prompt_ + longest_answer_ - 1;
    const std::uint32_t one = (longest + limits.page_tokens - 1) / limits.page_tokens;
    const std::uint32_t all = one * limits.rows;
    limits.pages = likely(60) ? in(one, std::min(all, one + one / 2 + 1)) : in(one, all);
    if (likely(5)) limits.pages = in(1, one);
  }

  const std::uint64_t seed_;
  sim::Random random_;
  Case drawn_;
  HashModelConfig model_;
  std::uint32_t longest_prompt_ = 1, longest_answer_ = 1, span_us_ = 1;
};

}  // namespace

Case draw(std::uint64_t seed) { return Drawing(seed).draw(); }

sim::HardwareProfile machine() { return batching::small_machine(); }

}  // namespace syncopate::driver
