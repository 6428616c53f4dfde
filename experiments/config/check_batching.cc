#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/config/check.h"
#include "experiments/config/rules.h"

namespace syncopate::experiments {
namespace {

class BatchingRules : Rules {
 public:
  BatchingRules(const BatchingConfig& config, const yaml::Origins& origins)
      : Rules(origins), config_(config) {}

  void check() const {
    check_runtime(config_.runtime);
    check_strategy();
    check_tokens();
    check_output(config_.output, config_.runtime);
    check_limits();
    if (const auto* llama = std::get_if<LlamaModelConfig>(&config_.model)) check_llama(*llama);
    if (const auto* drawn = std::get_if<GeneratedRequests>(&config_.requests)) {
      check_drawn(*drawn);
    } else {
      check_list(std::get<std::vector<RequestConfig>>(config_.requests));
    }
  }

 private:
  void check_strategy() const {
    const StrategyConfig& c = config_.strategy;
    if (c.kind == StrategyKind::kUnordered && !c.allow_races) {
      fail("strategy.kind",
           "unordered has races and gives wrong tokens; if that is wanted, set "
           "strategy.allow_races: true");
    }
    if (c.kind == StrategyKind::kDefaultStream) {
      constexpr auto kNone = "default_stream has no streams of its own; remove it";
      if (c.blocking_streams) fail("strategy.blocking_streams", kNone);
      if (c.d2h_on_default) fail("strategy.d2h_on_default", kNone);
    }
    if (!c.slots) return;
    if (c.kind == StrategyKind::kAsync && *c.slots == 1 && !c.allow_races) {
      fail("strategy.slots",
           "async with 1 slot overwrites inputs in use; take at least 2, or set "
           "strategy.allow_races: true if that is wanted");
    }
    if (c.kind != StrategyKind::kAsync && *c.slots != 1) {
      fail("strategy.slots",
           fmt::format("{} has one step in flight, so 1 slot; only async takes more",
                       yaml::name_of(c.kind)));
    }
  }

  void check_tokens() const {
    if (config_.output.tokens && !config_.runtime.effects) {
      fail("output.tokens", "with runtime.effects off no tokens exist, so none can be written");
    }
  }

  void check_limits() const {
    const LimitsConfig& c = config_.limits;
    if (c.rows > c.tokens) {
      fail("limits.rows", fmt::format("a batch of {} tokens (limits.tokens) never holds {} rows, "
                                      "each of at least one token",
                                      c.tokens, c.rows));
    }
  }

  void check_llama(const LlamaModelConfig& c) const {
    if (c.shape.has_value() == c.checkpoint.has_value()) {
      fail("model", c.shape ? "has both shape and checkpoint: keep one"
                            : "llama needs a shape (random weights) or a checkpoint (a folder)");
    }
    if (!c.shape) return;
    if (c.shape->heads % c.shape->kv_heads != 0) {
      fail("model.shape.kv_heads",
           fmt::format("{} does not divide heads, which is {}", c.shape->kv_heads, c.shape->heads));
    }
    constexpr auto kStep = models::llama::LlamaConfig::kHeadDimStep;
    if (c.shape->head_dim % kStep != 0) {
      fail("model.shape.head_dim", fmt::format("must be a multiple of {}", kStep));
    }
    if (const auto& rope = c.shape->rope_scaling;
        rope && !(0 < rope->low_freq_factor && rope->low_freq_factor < rope->high_freq_factor)) {
      fail("model.shape.rope_scaling",
           fmt::format("needs 0 < low_freq_factor ({}) < high_freq_factor ({})",
                       rope->low_freq_factor, rope->high_freq_factor));
    }
  }

  void check_drawn(const GeneratedRequests& c) const {
    check_ends("requests", c.eos.has_value(), c.stop);
    if (c.eos) check_id("requests.eos", *c.eos);
    for (std::size_t i = 0; i < c.stop.size(); ++i) {
      const std::string path = fmt::format("requests.stop[{}]", i);
      if (c.stop[i].empty()) fail(path, "a stop sequence has at least one token id");
      for (const std::int32_t id : c.stop[i]) check_id(path, id);
    }
    if (c.trace) {
      check_traced(c);
    } else {
      check_generated(c);
    }
  }

  void check_traced(const GeneratedRequests& c) const {
    constexpr auto kOfTheTrace = "is what requests.trace says: keep one";
    if (c.prompt_tokens) fail("requests.prompt_tokens", kOfTheTrace);
    if (c.max_new_tokens) fail("requests.max_new_tokens", kOfTheTrace);
    if (c.arrivals) fail("requests.arrivals", kOfTheTrace);
    if (c.interval_ms != 0) fail("requests.interval_ms", kOfTheTrace);
  }

  void check_generated(const GeneratedRequests& c) const {
    for (const auto& [name, given] : {std::pair{"count", c.count.has_value()},
                                      std::pair{"prompt_tokens", c.prompt_tokens.has_value()},
                                      std::pair{"max_new_tokens", c.max_new_tokens.has_value()}}) {
      if (given) continue;
      fail("requests", fmt::format("lacks {}: count, prompt_tokens and max_new_tokens say what to "
                                   "draw, or a trace what came",
                                   name));
    }
    if (c.rate_scale) fail("requests.rate_scale", "is for a trace: remove it");
    check_lengths("requests.prompt_tokens", *c.prompt_tokens);
    check_lengths("requests.max_new_tokens", *c.max_new_tokens);
    check_fits("requests.max_new_tokens", c.prompt_tokens->max, c.max_new_tokens->max);
    if (c.arrivals) check_arrivals(c);
    if (const double last = c.interval_ms * (*c.count - 1.0); last > kMaxMs) {
      fail("requests.interval_ms",
           fmt::format("the last of {} requests would come after {} ms; {} is the most", *c.count,
                       last, kMaxMs));
    }
  }

  void check_lengths(const std::string& path, const Lengths& c) const {
    if (c.min > c.max) fail(path, fmt::format("min {} is more than max {}", c.min, c.max));
    if (c.file && c.median) fail(path + ".median", "the file says how lengths vary: keep one");
    if (c.sigma && !c.median) fail(path + ".sigma", "is for a log-normal: give the median, too");
    if (c.median && !c.sigma) fail(path + ".median", "is of a log-normal: give sigma, too");
    if (c.median && (*c.median < c.min || *c.median > c.max)) {
      fail(path + ".median",
           fmt::format("{} is not between min {} and max {}", *c.median, c.min, c.max));
    }
  }

  /// Of a key of requests.arrivals.
  void check_belongs(const char* name, bool given, bool belongs, bool needed) const {
    const std::string_view kind =
        yaml::name_of(std::get<GeneratedRequests>(config_.requests).arrivals->kind);
    const std::string path = fmt::format("requests.arrivals.{}", name);
    if (needed && !given) fail(path, fmt::format("is missing: {} needs it", kind));
    if (given && !belongs) fail(path, fmt::format("is not for {}: remove it", kind));
  }

  void check_arrivals(const GeneratedRequests& c) const {
    if (c.interval_ms != 0) {
      fail("requests.interval_ms", "requests.arrivals says when they come: keep one");
    }
    const ArrivalsConfig& arrivals = *c.arrivals;
    const bool gamma = arrivals.kind == ArrivalKind::kGamma;
    const bool closed = arrivals.kind == ArrivalKind::kClosed;
    check_belongs("cv", arrivals.cv.has_value(), gamma, gamma);
    check_belongs("rate_per_s", arrivals.rate_per_s.has_value(), !closed, !closed);
    check_belongs("clients", arrivals.clients.has_value(), closed, closed);
    check_belongs("think_ms", arrivals.think_ms.has_value(), closed, false);
    if (closed) return;
    constexpr double kMostSeconds = kMaxMs / 1e4;
    if (const double last = *c.count / *arrivals.rate_per_s; last > kMostSeconds) {
      fail("requests.arrivals.rate_per_s",
           fmt::format(
               "the last of {} requests would come after some {:.0f} s; {:.0f} s is the most",
               *c.count, last, kMostSeconds));
    }
  }

  /// Only what makes no request at all. One that can never be served is refused by itself, in the
  /// run: the rest is served.
  void check_list(const std::vector<RequestConfig>& list) const {
    if (list.empty()) fail("requests", "the list is empty: at least one request is needed");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const RequestConfig& c = list[i];
      const std::string path = fmt::format("requests[{}]", i);
      if (c.prompt.has_value() == c.prompt_tokens.has_value()) {
        fail(path, c.prompt ? "has both prompt and prompt_tokens: keep one"
                            : "needs prompt (token ids) or prompt_tokens (a length)");
      }
      check_ends(path, c.eos.has_value(), c.stop);
    }
  }

  /// Ends that depend on tokens need tokens.
  void check_ends(const std::string& path, bool eos, const StopConfig& stop) const {
    if (config_.runtime.effects) return;
    for (const auto& [name, given] : {std::pair{"eos", eos}, std::pair{"stop", !stop.empty()}}) {
      if (!given) continue;
      fail(
          fmt::format("{}.{}", path, name),
          fmt::format("with runtime.effects off no tokens exist, so none can end a request: remove "
                      "{} (lengths then come from max_new_tokens) or set runtime.effects: true",
                      name));
    }
  }

  /// The checkpoint's own sizes are checked when it is loaded.
  void check_id(std::string_view path, std::int64_t id) const {
    std::uint32_t vocab = UINT32_MAX;
    if (const auto* hash = std::get_if<HashModelConfig>(&config_.model)) vocab = hash->vocab;
    if (const auto* llama = std::get_if<LlamaModelConfig>(&config_.model); llama && llama->shape) {
      vocab = llama->shape->vocab;
    }
    if (id < 0 || id >= vocab) {
      fail(path,
           fmt::format("token id {} is outside the model's vocabulary, 0 to {}", id, vocab - 1));
    }
  }

  void check_fits(std::string_view new_path, std::uint64_t prompt, std::uint64_t max_new) const {
    const LimitsConfig& limits = config_.limits;
    const std::uint64_t total = prompt + max_new;
    const std::uint64_t pool = std::uint64_t{limits.pages} * limits.page_tokens;
    if (total - 1 > pool) {  // the last token has no KV entry
      fail(new_path, fmt::format("{} prompt and {} new tokens never fit the KV pool of {} "
                                 "(limits.pages {} x limits.page_tokens {})",
                                 prompt, max_new, pool, limits.pages, limits.page_tokens));
    }
    std::uint64_t positions = UINT64_MAX;
    if (const auto* hash = std::get_if<HashModelConfig>(&config_.model)) {
      positions = hash->max_positions;
    }
    if (const auto* llama = std::get_if<LlamaModelConfig>(&config_.model); llama && llama->shape) {
      positions = llama->shape->max_position;
    }
    if (total > positions) {
      fail(new_path, fmt::format("{} prompt and {} new tokens are more than the model's "
                                 "max_positions, {}",
                                 prompt, max_new, positions));
    }
  }

  const BatchingConfig& config_;
};

}  // namespace

void check(const BatchingConfig& config, const yaml::Origins& origins) {
  BatchingRules(config, origins).check();
}

}  // namespace syncopate::experiments
