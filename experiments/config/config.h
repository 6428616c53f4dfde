// The configuration of a run of the batching program: plain data and its description.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/batching/strategy.h"
#include "experiments/config/model_config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

enum class Program { kBatching };
enum class RuntimeKind { kSim, kCpu, kCuda };
using batching::StrategyKind;

struct RuntimeConfig {
  RuntimeKind kind = RuntimeKind::kSim;
  std::optional<std::string> profile;  ///< sim only, and needed there.
  bool effects = true;
  std::uint64_t seed = 0;
  bool chaos = false;
};

template <class V>
void describe(V& v, RuntimeConfig& c) {
  using yaml::key, yaml::required;
  v(required("kind", "What spends the time"), c.kind);
  v(key("profile", "Hardware profile of sim: a name in configs/hardware, or a path"), c.profile);
  v(key("effects", "Compute tokens; off (sim only): times alone, much faster"), c.effects);
  v(key("seed", "Of jitter and chaos in sim"), c.seed);
  v(key("chaos", "sim only: random durations, which bring hidden races to light"), c.chaos);
}

struct StrategyConfig {
  StrategyKind kind = StrategyKind::kAsync;
  std::optional<std::uint32_t> slots;  ///< Set once resolved: 2 for async, else 1.
  bool graphs = true;
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
  v(key("allow_races", "Run a strategy that is known to be wrong"), c.allow_races);
}

/// An inclusive range to draw from, evenly; a lone number n is {min: n, max: n}.
struct Lengths {
  using Shorthand = std::uint32_t;
  std::uint32_t min = 1;
  std::uint32_t max = 1;

  Lengths() = default;
  explicit Lengths(std::uint32_t n) : min(n), max(n) {}
};

inline constexpr double kMaxTokens = 1 << 24;  ///< Of a prompt, an answer, a batch, a pool.

template <class V>
void describe(V& v, Lengths& c) {
  using yaml::required;
  v(required("min", "Least").range(1, kMaxTokens), c.min);
  v(required("max", "Most").range(1, kMaxTokens), c.max);
}

/// Requests drawn from a seed. All arrive at the start.
struct GeneratedRequests {
  std::uint32_t count = 0;
  Lengths prompt_tokens;
  Lengths max_new_tokens;
  std::optional<std::uint32_t> eos;
  std::uint64_t seed = 0;
};

template <class V>
void describe(V& v, GeneratedRequests& c) {
  using yaml::key, yaml::required;
  v(required("count", "How many").range(1, 1'000'000), c.count);
  v(required("prompt_tokens", "Prompt length: an integer or {min, max}").range(1, kMaxTokens),
    c.prompt_tokens);
  v(required("max_new_tokens", "New tokens: an integer or {min, max}").range(1, kMaxTokens),
    c.max_new_tokens);
  v(key("eos", "Token id that ends a request early; null: none"), c.eos);
  v(key("seed", "Of prompts and lengths"), c.seed);
}

/// One request written out.
struct RequestConfig {
  std::optional<std::uint32_t> prompt_tokens;
  std::optional<std::vector<std::uint32_t>> prompt;
  std::uint32_t max_new_tokens = 0;
  std::optional<std::uint32_t> eos;

  std::uint64_t prompt_length() const { return prompt ? prompt->size() : prompt_tokens.value(); }
};

template <class V>
void describe(V& v, RequestConfig& c) {
  using yaml::key, yaml::required;
  v(key("prompt_tokens", "Prompt length, ids from the request's number; this or prompt")
        .range(1, kMaxTokens),
    c.prompt_tokens);
  v(key("prompt", "The prompt's token ids; this or prompt_tokens"), c.prompt);
  v(required("max_new_tokens", "New tokens").range(1, kMaxTokens), c.max_new_tokens);
  v(key("eos", "Token id that ends the request early; null: none"), c.eos);
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

struct HostConfig {
  double extra_us = 0;
};

template <class V>
void describe(V& v, HostConfig& c) {
  v(yaml::key("extra_us", "Host work added to each step, microseconds").range(0, 1e6), c.extra_us);
}

struct OutputConfig {
  bool log = true;
  bool tokens = false;
  bool trace = false;
  std::optional<std::array<std::uint32_t, 2>> window;  ///< Of the trace: first and last step.
};

inline constexpr double kMaxStep = INT32_MAX;

template <class V>
void describe(V& v, OutputConfig& c) {
  using yaml::key;
  v(key("log", "Record calls and accesses: for check, races and figures"), c.log);
  v(key("tokens", "Write every request's tokens, not only their digest"), c.tokens);
  v(key("trace", "Write a trace for Perfetto and other viewers (needs log)"), c.trace);
  v(key("window", "Steps in the trace: [first, last], both included; null: all").range(0, kMaxStep),
    c.window);
}

struct Config {
  Program program = Program::kBatching;
  RuntimeConfig runtime;
  ModelConfig model;
  StrategyConfig strategy;
  RequestsConfig requests;
  LimitsConfig limits;
  HostConfig host;
  OutputConfig output;
};

template <class V>
void describe(V& v, Config& c) {
  using yaml::key, yaml::required;
  v(required("program", "What runs"), c.program);
  v(required("runtime", "Where it runs"), c.runtime);
  v(required("model", "What decodes"), c.model);
  v(required("strategy", "How host and device overlap"), c.strategy);
  v(required("requests", "The workload: a map to draw from, or a list"), c.requests);
  v(required("limits", "What a batch and the KV pool can hold"), c.limits);
  v(key("host", "The host thread"), c.host);
  v(key("output", "What a run records"), c.output);
}

}  // namespace syncopate::experiments

namespace syncopate::experiments::yaml {

template <>
struct ChoicesOf<Program> {
  static constexpr std::array value{
      Choice{Program::kBatching, "batching",
             "continuous batching of LLM requests with paged KV, synchronous or asynchronous"},
  };
};

template <>
struct ChoicesOf<RuntimeKind> {
  static constexpr std::array value{
      Choice{RuntimeKind::kSim, "sim", "virtual time, from a hardware profile"},
      Choice{RuntimeKind::kCpu, "cpu", "CPU threads stand in for the device"},
      Choice{RuntimeKind::kCuda, "cuda", "NVIDIA GPUs"},
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
