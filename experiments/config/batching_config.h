// The configuration of the batching program: plain data and its description.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/batching/scheduler.h"
#include "backend/batching/strategy.h"
#include "experiments/config/model_config.h"
#include "experiments/config/output_config.h"
#include "experiments/config/runtime_config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

using batching::SchedulerOptions;
using batching::StrategyKind;
using batching::TokenPolicy;

struct StrategyConfig {
  StrategyKind kind = StrategyKind::kAsync;
  std::optional<std::uint32_t> slots;  ///< Set once resolved: 2 for async, else 1.
  bool graphs = true;
  bool pinned = true;
  bool blocking_streams = false;
  bool d2h_on_default = false;
  bool allow_races = false;
};

template <class V>
void describe(V& v, StrategyConfig& c) {
  using yaml::key, yaml::required;
  v(required("kind", "How the steps' copies and kernels are ordered"), c.kind);
  v(key("slots", "Steps in flight, each with its own inputs and outputs; null: 2 for async, else 1")
        .range(1, 64),
    c.slots);
  v(key("graphs", "Launch a step's kernels as one CUDA graph"), c.graphs);
  v(key("pinned",
        "Host memory of the copies is pinned; off: pageable, and each copy holds the host"),
    c.pinned);
  v(key("blocking_streams",
        "Its streams and the legacy default stream wait for each other, as cudaStreamCreate has "
        "it"),
    c.blocking_streams);
  v(key("d2h_on_default",
        "The ids are copied to the host in the legacy default stream, as a mistake would"),
    c.d2h_on_default);
  v(key("allow_races", "Run a strategy that is known to be wrong"), c.allow_races);
}

/// An inclusive range to draw from: evenly, with a median log-normally, or from a file's lengths; a
/// lone number n is {min: n, max: n}.
struct Lengths {
  using Shorthand = std::uint32_t;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::optional<double> median;
  std::optional<double> sigma;
  std::optional<std::string> file;  ///< An absolute path once resolved.

  Lengths() = default;
  explicit Lengths(std::uint32_t n) : min(n), max(n) {}
};

inline constexpr double kMaxMs = 1e9;          ///< Of times: some eleven days.
inline constexpr double kMaxTokens = 1 << 24;  ///< Of a prompt, an answer, a batch, a pool.

template <class V>
void describe(V& v, Lengths& c) {
  using yaml::required;
  v(required("min", "Least").range(1, kMaxTokens), c.min);
  v(required("max", "Most").range(1, kMaxTokens), c.max);
  v(yaml::key(
        "median",
        "Log-normal about it, what is beyond min or max being that; null: evenly from min to max")
        .range(1, kMaxTokens),
    c.median);
  v(yaml::key("sigma", "With median: the deviation of the lengths' logarithm").range(0, 10),
    c.sigma);
  v(yaml::key(
        "file",
        "Lengths, one a line, of which each draw takes one; what is beyond min or max is that"),
    c.file);
}

}  // namespace syncopate::experiments

// Descriptions of the library's own structs stand in the structs' namespaces, where they are found.
namespace syncopate::models {

template <class V>
void describe(V& v, Sampling& c) {
  using experiments::yaml::key;
  v(key("temperature", "Divides the logits; 0: greedy").range(0, 100), c.temperature);
  v(key("top_k", "Only the k most likely tokens; 0: all"), c.top_k);
  v(key("top_p", "Only the fewest most likely tokens that hold this share").range(1e-4, 1),
    c.top_p);
  v(key("min_p", "Only tokens with this share of the most likely one's probability").range(0, 1),
    c.min_p);
  v(key("repetition_penalty", "Above 1: what was there before is less likely").range(0.01, 100),
    c.repetition_penalty);
  v(key("seed", "Of the draws; a drawn request adds its number"), c.seed);
}

}  // namespace syncopate::models

namespace syncopate::batching {

template <class V>
void describe(V& v, SchedulerOptions& c) {
  using experiments::yaml::key;
  v(key("policy", "Who gets a step's tokens first"), c.policy);
  v(key("chunk_tokens", "Most tokens of one prompt in a step; 0: as many as the step has left"),
    c.chunk_tokens);
}

}  // namespace syncopate::batching

namespace syncopate::experiments {

using StopConfig = std::vector<std::vector<std::int32_t>>;

enum class ArrivalKind : std::uint8_t { kConstant, kPoisson, kGamma, kClosed };

/// Requests that come by themselves, whether those before are answered or not; or with kClosed
/// those of some clients, each of which waits for its answer before it asks again.
struct ArrivalsConfig {
  ArrivalKind kind = ArrivalKind::kPoisson;
  std::optional<double> rate_per_s;
  std::optional<double> cv;
  std::optional<std::uint32_t> clients;
  std::optional<double> think_ms;
};

template <class V>
void describe(V& v, ArrivalsConfig& c) {
  using yaml::key, yaml::required;
  v(required("kind", "How the gaps between requests vary"), c.kind);
  v(key("rate_per_s", "Requests a second, in the mean; not of closed").range(1e-6, 1e9),
    c.rate_per_s);
  v(key("cv", "gamma: the gaps' deviation in means; above 1 requests come in bursts")
        .range(0.01, 30),
    c.cv);
  v(key("clients", "closed: who take turns with the requests, all asking at the start")
        .range(1, 1'000'000),
    c.clients);
  v(key("think_ms", "closed: from an answer to the client's next request; null: none")
        .range(0, kMaxMs),
    c.think_ms);
}

/// Requests drawn from a seed, or with a trace what that says, of which only the ids are drawn.
struct GeneratedRequests {
  std::optional<std::uint32_t> count;
  std::optional<Lengths> prompt_tokens;
  std::optional<Lengths> max_new_tokens;
  std::optional<std::string> trace;  ///< An absolute path once resolved.
  std::optional<double> rate_scale;
  std::optional<std::uint32_t> eos;
  StopConfig stop;
  models::Sampling sampling;
  double interval_ms = 0;
  std::optional<ArrivalsConfig> arrivals;
  std::uint64_t seed = 0;
};

template <class V>
void describe(V& v, GeneratedRequests& c) {
  using yaml::key;
  v(key("count", "How many; with a trace the most, null: all of it").range(1, 1'000'000), c.count);
  v(key("prompt_tokens", "Prompt length: an integer or {min, max}; not with a trace")
        .range(1, kMaxTokens),
    c.prompt_tokens);
  v(key("max_new_tokens", "New tokens: an integer or {min, max}; not with a trace")
        .range(1, kMaxTokens),
    c.max_new_tokens);
  v(key("trace",
        "A CSV file of requests that a server got, whose times and lengths these have: the layouts "
        "of "
        "the Azure LLM inference traces, of BurstGPT, or arrival_s,prompt_tokens,output_tokens"),
    c.trace);
  v(key("rate_scale", "With a trace: how many times as fast its requests come").range(1e-6, 1e6),
    c.rate_scale);
  v(key("eos", "Token id that ends a request early; null: none"), c.eos);
  v(key("stop", "Sequences of token ids, each of which ends a request early"), c.stop);
  v(key("sampling", "How tokens are chosen"), c.sampling);
  v(key("interval_ms", "Time from one arrival to the next; 0: all are there at the start")
        .range(0, kMaxMs),
    c.interval_ms);
  v(key("arrivals", "When requests come, from a rate; this or interval_ms"), c.arrivals);
  v(key("seed", "Of prompts, lengths and arrivals"), c.seed);
}

/// One request written out. Values that no request can have are taken here: a server gets such
/// requests too, and refuses each by itself.
struct RequestConfig {
  std::optional<std::uint64_t> id;
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::vector<std::int32_t>> prompt;
  std::int64_t max_new_tokens = 0;
  std::optional<std::int32_t> eos;
  StopConfig stop;
  models::Sampling sampling;
  std::int32_t priority = 0;
  double arrival_ms = 0;
  std::optional<double> cancel_ms;
  std::uint32_t cancel_tokens = 0;
};

template <class V>
void describe(V& v, RequestConfig& c) {
  using yaml::key, yaml::required;
  v(key("id", "The client's name for it, which no other has at the same time"), c.id);
  v(key("prompt_tokens", "Prompt length, ids from the request's number; this or prompt")
        .range(-kMaxTokens, kMaxTokens),
    c.prompt_tokens);
  v(key("prompt", "The prompt's token ids; this or prompt_tokens"), c.prompt);
  v(required("max_new_tokens", "New tokens").range(-kMaxTokens, kMaxTokens), c.max_new_tokens);
  v(key("eos", "Token id that ends the request early; null: none"), c.eos);
  v(key("stop", "Sequences of token ids, each of which ends the request early"), c.stop);
  v(key("sampling", "How its tokens are chosen"), c.sampling);
  v(key("priority", "The higher goes first"), c.priority);
  v(key("arrival_ms", "When it comes, after the start").range(0, kMaxMs), c.arrival_ms);
  v(key("cancel_ms", "When its client gives up, after the start; null: never").range(0, kMaxMs),
    c.cancel_ms);
  v(key("cancel_tokens", "Its client gives up once it has this many tokens; 0: never"),
    c.cancel_tokens);
}

using RequestsConfig = std::variant<GeneratedRequests, std::vector<RequestConfig>>;

struct LimitsConfig {
  std::uint32_t rows = 0;
  std::uint32_t tokens = 0;
  std::uint32_t page_tokens = 16;
  std::uint32_t pages = 0;
};

template <class V>
void describe(V& v, LimitsConfig& c) {
  using yaml::key, yaml::required;
  v(required("rows", "Requests in a batch").range(1, 1 << 16), c.rows);
  v(required("tokens", "Tokens in a batch").range(1, kMaxTokens), c.tokens);
  v(key("page_tokens", "KV entries of a page").range(1, 1 << 16), c.page_tokens);
  v(required("pages", "Pages of the KV pool").range(1, kMaxTokens), c.pages);
}

/// What a request must keep to count as served well.
struct SloConfig {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
};

template <class V>
void describe(V& v, SloConfig& c) {
  v(yaml::key("ttft_ms", "The longest time to the first token; null: any").range(0, kMaxMs),
    c.ttft_ms);
  v(yaml::key("tpot_ms", "The longest time per output token after it; null: any").range(0, kMaxMs),
    c.tpot_ms);
}

struct HostConfig {
  double extra_us = 0;
};

template <class V>
void describe(V& v, HostConfig& c) {
  v(yaml::key("extra_us", "Host work added to each step, microseconds").range(0, 1e6), c.extra_us);
}

/// A run's tokens may be written as well.
struct BatchingOutputConfig : OutputConfig {
  bool tokens = false;
};

template <class V>
void describe(V& v, BatchingOutputConfig& c) {
  describe_log(v, c);
  v(yaml::key("tokens", "Write every request's tokens, not only their digest"), c.tokens);
  describe_trace(v, c);
}

struct BatchingConfig {
  static constexpr std::string_view kKind = "batching";
  static constexpr std::string_view kDoc =
      "continuous batching of LLM requests with paged KV, synchronous or asynchronous";

  RuntimeConfig runtime;
  ModelConfig model;
  StrategyConfig strategy;
  RequestsConfig requests;
  LimitsConfig limits;
  std::optional<SloConfig> slo;
  SchedulerOptions scheduler;
  HostConfig host;
  BatchingOutputConfig output;
};

template <class V>
void describe(V& v, BatchingConfig& c) {
  using yaml::key, yaml::required;
  v(required("runtime", "Where it runs"), c.runtime);
  v(required("model", "What decodes"), c.model);
  v(required("strategy", "How host and device overlap"), c.strategy);
  v(required("requests", "The workload: a map to draw from, or a list"), c.requests);
  v(required("limits", "What a batch and the KV pool can hold"), c.limits);
  v(key("slo", "What counts for goodput: the share and rate of requests that keep it"), c.slo);
  v(key("scheduler", "Who is in a step"), c.scheduler);
  v(key("host", "The host thread"), c.host);
  v(key("output", "What a run records"), c.output);
}

}  // namespace syncopate::experiments

namespace syncopate::experiments::yaml {

template <>
struct ChoicesOf<ArrivalKind> {
  static constexpr std::array value{
      Choice{ArrivalKind::kConstant, "constant", "all alike"},
      Choice{ArrivalKind::kPoisson, "poisson", "exponential: requests know nothing of each other"},
      Choice{ArrivalKind::kGamma, "gamma", "as cv says: bursts above 1, more even below"},
      Choice{ArrivalKind::kClosed, "closed", "when its client's request before it is answered"},
  };
};

template <>
struct ChoicesOf<TokenPolicy> {
  static constexpr std::array value{
      Choice{TokenPolicy::kDecodeFirst, "decode_first",
             "one token for each row that decodes; prompts share what is left"},
      Choice{TokenPolicy::kPrefillFirst, "prefill_first",
             "prompts first; rows that decode get what is left, or sit the step out"},
  };
};

template <>
struct ChoicesOf<StrategyKind> {
  static constexpr std::array value{
      Choice{StrategyKind::kDefaultStream, "default_stream",
             "one stream for all; host and device take turns"},
      Choice{StrategyKind::kUnordered, "unordered",
             "three streams and no events: fast and wrong (needs allow_races)"},
      Choice{StrategyKind::kOrdered, "ordered",
             "three streams ordered by events; the host waits for each step"},
      Choice{StrategyKind::kAsync, "async",
             "the host prepares the next step while the device runs this one"},
  };
};

}  // namespace syncopate::experiments::yaml
