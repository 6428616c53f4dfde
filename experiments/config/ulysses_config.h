// The configuration of the Ulysses program: plain data and its description.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ulysses/element_type.h"
#include "backend/ulysses/strategy.h"
#include "backend/ulysses/ulysses.h"
#include "experiments/config/output_config.h"
#include "experiments/config/runtime_config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

using ulysses::ElementType;
using ulysses::EnqueueOrder;
using ulysses::Transport;
using ulysses::WorkspaceUse;

/// One device a rank, unless it says otherwise.
struct UlyssesRuntimeConfig : RuntimeConfig {
  std::optional<std::uint32_t> devices;
};

template <class V>
void describe(V& v, UlyssesRuntimeConfig& c) {
  describe(v, static_cast<RuntimeConfig&>(c));
  v(yaml::key("devices",
              "cuda only: GPUs that the ranks are spread over, rank r on GPU r mod devices; null: "
              "one a rank")
        .range(1, 64),
    c.devices);
}

/// What is computed: attention over one sequence, which the ranks hold in parts.
struct UlyssesShapeConfig {
  std::uint32_t world = 0;
  std::optional<std::uint32_t> sequence;
  std::optional<std::vector<std::uint32_t>> tokens;
  std::uint32_t heads = 0;
  std::optional<std::uint32_t> kv_heads;  ///< Set once resolved.
  std::uint32_t head_dim = 0;
  std::uint32_t batch = 1;
  ElementType type = ElementType::kBf16;
  bool causal = false;
};

inline constexpr double kMaxSequence = 1 << 24;

template <class V>
void describe(V& v, UlyssesShapeConfig& c) {
  using yaml::key, yaml::required;
  v(required("world", "Ranks").range(1, 64), c.world);
  v(key("sequence", "Tokens, divided over the ranks as evenly as can be; this or tokens")
        .range(1, kMaxSequence),
    c.sequence);
  v(key("tokens", "Tokens of each rank; this or sequence").range(0, kMaxSequence), c.tokens);
  v(required("heads", "Query heads; the ranks divide them").range(1, 4096), c.heads);
  v(key("kv_heads", "Key and value heads, which divide heads; null: as many").range(1, 4096),
    c.kv_heads);
  v(required("head_dim", "Width of a head").range(1, 1024), c.head_dim);
  v(key("batch", "Sequences at once").range(1, 1024), c.batch);
  v(key("type", "Of the elements"), c.type);
  v(key("causal", "A token attends to none after it"), c.causal);
}

/// A strategy, or the search for one.
enum class PassStrategy : std::uint8_t {
  kOrdinary,
  kWholeFused,
  kChunkSequential,
  kChunkOverlap,
  kAuto,
};

/// One way to run a pass. With kAuto a search fills in strategy, schedule, slots and transport
/// (experiments/search).
struct VariantConfig {
  std::optional<std::string> name;  ///< Set once resolved, as are …
  PassStrategy strategy = PassStrategy::kChunkOverlap;
  std::optional<std::vector<std::uint32_t>> schedule;  ///< … for strategies that chunk …
  std::optional<std::uint32_t> slots;                  ///< … for the overlapped one …
  EnqueueOrder enqueue = EnqueueOrder::kAhead;
  std::optional<Transport> transport;  ///< … and for all but kAuto.
  bool graphs = false;
  WorkspaceUse workspace = WorkspaceUse::kReuse;
};

template <class V>
void describe(V& v, VariantConfig& c) {
  using yaml::key, yaml::required;
  v(key("name", "In tables and files; null: from the keys below"), c.name);
  v(required("strategy", "How much of a pass overlaps, or auto: what is fastest in virtual time"),
    c.strategy);
  v(key("schedule",
        "Heads of each band, of a rank's own; null, where the strategy chunks: a quarter, the "
        "rest, a quarter")
        .range(1, 4096),
    c.schedule);
  v(key("slots", "chunk_overlap: bands that a rank's workspace holds; null: all").range(1, 4096),
    c.slots);
  v(key("enqueue", "chunk_overlap: when a band's scatter is enqueued"), c.enqueue);
  v(key("transport", "What moves the heads; null: peer, and with auto the faster one"),
    c.transport);
  v(key("graphs", "Launch a pass as one CUDA graph"), c.graphs);
  v(key("workspace", "When the memory is allocated that bands land in"), c.workspace);
}

/// What strategy auto chooses by.
struct SearchConfig {
  std::optional<std::string> profile;
  std::uint32_t max_bands = 3;
};

template <class V>
void describe(V& v, SearchConfig& c) {
  using yaml::key;
  v(key("profile",
        "Whose virtual time counts: a name or a path as runtime.profile has; null: that profile"),
    c.profile);
  v(key("max_bands", "The most bands of a schedule").range(1, 64), c.max_bands);
}

/// How many schedules cut `heads` into at most `max_bands` bands; 2^53 where there are more.
double schedules(std::uint32_t heads, std::uint32_t max_bands);

struct BenchmarkConfig {
  std::uint32_t warmups = 3;
  std::uint32_t iterations = 30;
  bool check = true;
  double tolerance = 0.02;
  std::uint64_t seed = 1;
};

template <class V>
void describe(V& v, BenchmarkConfig& c) {
  using yaml::key;
  v(key("warmups", "Passes of each variant before those that count").range(0, 10'000), c.warmups);
  v(key("iterations", "Passes of each variant that count; the variants take turns")
        .range(1, 100'000),
    c.iterations);
  v(key("check", "Compare each variant's output with one device's before anything is timed"),
    c.check);
  v(key("tolerance", "The largest absolute difference that is right").range(0, 1), c.tolerance);
  v(key("seed", "Of the inputs"), c.seed);
}

struct UlyssesConfig {
  static constexpr std::string_view kKind = "ulysses";
  static constexpr std::string_view kDoc =
      "sequence-parallel attention over several devices, in bands of heads that overlap or not";

  UlyssesRuntimeConfig runtime;
  UlyssesShapeConfig shape;
  std::vector<VariantConfig> variants;
  SearchConfig search;
  BenchmarkConfig benchmark;
  OutputConfig output;
};

template <class V>
void describe(V& v, UlyssesConfig& c) {
  using yaml::key, yaml::required;
  v(required("runtime", "Where it runs"), c.runtime);
  v(required("shape", "What is computed"), c.shape);
  v(required("variants", "The ways to compute it, which are compared"), c.variants);
  v(key("search", "What strategy auto chooses by"), c.search);
  v(key("benchmark", "How they are measured"), c.benchmark);
  v(key("output", "What a run records"), c.output);
}

/// A quarter of a rank's heads, the rest, a quarter: small bands first and last expose little of
/// their scatter and gather. One head a band where there are fewer than four.
std::vector<std::uint32_t> default_schedule(std::uint32_t local_heads);

/// Fills in what follows from other values: K/V heads, schedules, slots, transports, names.
/// `config` is checked.
void resolve(UlyssesConfig& config);

/// Whether a strategy takes a schedule's bands. kAuto does not: it finds them.
bool chunks(PassStrategy strategy);
/// What the program calls it. Of kAuto there is none: throws std::logic_error.
ulysses::StrategyKind strategy_kind(PassStrategy strategy);

/// The profile that a variant with kAuto is chosen by, and the key that names it; none where no
/// variant needs one, or none is named.
struct SearchProfile {
  std::string name;
  const char* key;
};
std::optional<SearchProfile> search_profile(const UlyssesConfig& config);

}  // namespace syncopate::experiments

namespace syncopate::experiments::yaml {

template <>
struct ChoicesOf<ElementType> {
  static constexpr std::array value{
      Choice{ElementType::kFp16, "fp16", "IEEE half precision"},
      Choice{ElementType::kBf16, "bf16", "bfloat16"},
      Choice{ElementType::kFp32, "fp32", "IEEE single precision"},
  };
};

template <>
struct ChoicesOf<ulysses::Transport> {
  static constexpr std::array value{
      Choice{ulysses::Transport::kPeer, "peer", "copies straight into the other ranks' memory"},
      Choice{ulysses::Transport::kNccl, "nccl", "kernels that pack and merge, and a collective"},
  };
};

template <>
struct ChoicesOf<ulysses::EnqueueOrder> {
  static constexpr std::array value{
      Choice{ulysses::EnqueueOrder::kAhead, "ahead", "as soon as there is a slot for it"},
      Choice{ulysses::EnqueueOrder::kInTurn, "in_turn",
             "with its band, behind the attention of the band before"},
  };
};

template <>
struct ChoicesOf<ulysses::WorkspaceUse> {
  static constexpr std::array value{
      Choice{ulysses::WorkspaceUse::kReuse, "reuse", "once, before the first pass"},
      Choice{ulysses::WorkspaceUse::kPerCall, "per_call",
             "in each pass: a measure of what reuse saves"},
  };
};

template <>
struct ChoicesOf<PassStrategy> {
  static constexpr std::array value{
      Choice{PassStrategy::kOrdinary, "ordinary",
             "scatter Q, K and V one by one, attention, gather"},
      Choice{PassStrategy::kWholeFused, "whole_fused", "the same with one scatter of all three"},
      Choice{PassStrategy::kChunkSequential, "chunk_sequential",
             "band by band, one after the other"},
      Choice{PassStrategy::kChunkOverlap, "chunk_overlap",
             "the scatter of a band, the attention of another and the gather of a third at once"},
      Choice{PassStrategy::kAuto, "auto",
             "the fastest of them in virtual time, with its schedule and transport (search)"},
  };
};

}  // namespace syncopate::experiments::yaml
