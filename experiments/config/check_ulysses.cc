#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include "experiments/config/check.h"
#include "experiments/config/rules.h"

namespace syncopate::experiments {
namespace {

/// Compared in some seconds.
constexpr double kMostSchedules = 4'000;

class UlyssesRules : Rules {
 public:
  UlyssesRules(const UlyssesConfig& config, const yaml::Origins& origins)
      : Rules(origins), config_(config) {}

  void check() const {
    check_runtime(config_.runtime);
    check_devices();
    check_tokens();
    check_heads();
    if (config_.variants.empty()) fail("variants", "the list is empty: at least one is needed");
    for (std::size_t i = 0; i < config_.variants.size(); ++i) check_variant(i);
    check_names();
    check_search();
    check_output(config_.output, config_.runtime);
  }

 private:
  void check_devices() const {
    const UlyssesRuntimeConfig& c = config_.runtime;
    if (!c.devices) return;
    if (c.kind != RuntimeKind::kCuda) {
      fail("runtime.devices",
           fmt::format("is for cuda only, not {}: remove it", yaml::name_of(c.kind)));
    }
    if (*c.devices > config_.shape.world) {
      fail("runtime.devices", fmt::format("{} devices for {} ranks (shape.world) leave some idle",
                                          *c.devices, config_.shape.world));
    }
  }

  void check_tokens() const {
    const UlyssesShapeConfig& c = config_.shape;
    if (c.sequence.has_value() == c.tokens.has_value()) {
      fail("shape", c.sequence ? "has both sequence and tokens: keep one"
                               : "needs sequence (tokens in all) or tokens (of each rank)");
    }
    if (!c.tokens) return;
    if (c.tokens->size() != c.world) {
      fail("shape.tokens",
           fmt::format("has {} entries for {} ranks (shape.world)", c.tokens->size(), c.world));
    }
    const auto all = std::accumulate(c.tokens->begin(), c.tokens->end(), std::uint64_t{0});
    if (all == 0) fail("shape.tokens", "no rank has any");
    if (static_cast<double>(all) > kMaxSequence) {
      fail("shape.tokens", fmt::format("add up to {}; {} is the most", all, kMaxSequence));
    }
  }

  void check_heads() const {
    const UlyssesShapeConfig& c = config_.shape;
    if (c.heads % c.world != 0) {
      fail("shape.heads",
           fmt::format("{} cannot be divided among {} ranks (shape.world)", c.heads, c.world));
    }
    if (c.kv_heads && c.heads % *c.kv_heads != 0) {
      fail("shape.kv_heads",
           fmt::format("{} does not divide heads, which is {}", *c.kv_heads, c.heads));
    }
  }

  void check_variant(std::size_t index) const {
    const VariantConfig& c = config_.variants[index];
    const auto key = [index](const char* name) {
      return fmt::format("variants[{}].{}", index, name);
    };
    const std::string_view strategy = yaml::name_of(c.strategy);
    const bool chosen = c.strategy == PassStrategy::kAuto;
    if (c.schedule && !chunks(c.strategy)) {
      fail(key("schedule"), chosen
                                ? "auto finds one: remove it"
                                : fmt::format("{} takes all heads at once: remove it", strategy));
    }
    if (c.schedule) check_schedule(key("schedule"), *c.schedule);
    if (c.slots && c.strategy != PassStrategy::kChunkOverlap) {
      fail(key("slots"), chosen ? "auto has one for each band: remove it"
                                : fmt::format("{} holds one band at a time: remove it", strategy));
    }
    if (c.enqueue != EnqueueOrder::kAhead && c.strategy != PassStrategy::kChunkOverlap) {
      fail(key("enqueue"),
           chosen ? "auto compares passes that enqueue ahead: remove it"
                  : fmt::format("{} enqueues everything in turn: remove it", strategy));
    }
    if (c.slots && *c.slots > bands(c)) {
      fail(key("slots"),
           fmt::format("{} slots for {} bands: the others stay empty", *c.slots, bands(c)));
    }
    const auto& devices = config_.runtime.devices;
    if (c.transport == Transport::kNccl && devices && *devices < config_.shape.world) {
      fail(key("transport"), "nccl takes no two ranks on one GPU (runtime.devices)");
    }
    if (c.graphs && c.workspace == WorkspaceUse::kPerCall) {
      fail(key("workspace"), "a graph keeps the addresses that it was captured with: reuse it");
    }
    if (c.name) check_name(key("name"), *c.name);
  }

  void check_schedule(const std::string& path, const std::vector<std::uint32_t>& schedule) const {
    const auto all = std::accumulate(schedule.begin(), schedule.end(), std::uint64_t{0});
    if (all != local_heads()) {
      fail(path, fmt::format("{} is {} heads, and a rank has {} (shape.heads / shape.world)",
                             fmt::join(schedule, " + "), all, local_heads()));
    }
  }

  /// A name is a cell of a table and of a CSV file.
  void check_name(const std::string& path, const std::string& name) const {
    const auto wrong = [](unsigned char c) {
      return c < 0x20 || c == 0x7f || c == ',' || c == '"';
    };
    if (name.empty()) fail(path, "is empty: leave it out, or give one");
    if (std::ranges::any_of(name, wrong)) {
      fail(path, "has a comma, a quote or a control character, which a table cannot hold");
    }
  }

  /// Of names that are given and that are made.
  void check_names() const {
    UlyssesConfig resolved = config_;
    resolve(resolved);
    for (std::size_t i = 0; i < resolved.variants.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (resolved.variants[i].name != resolved.variants[j].name) continue;
        fail(config_.variants[i].name ? fmt::format("variants[{}].name", i)
                                      : fmt::format("variants[{}]", i),
             fmt::format("'{}' is variants[{}] already", *resolved.variants[i].name, j));
      }
    }
  }

  void check_search() const {
    const bool any = std::ranges::any_of(
        config_.variants, [](const VariantConfig& c) { return c.strategy == PassStrategy::kAuto; });
    if (!any) {
      if (config_.search.profile) fail("search.profile", "no variant is auto: remove it");
      return;
    }
    if (!search_profile(config_)) {
      fail("search.profile", "is missing: strategy auto chooses by the virtual time of a profile");
    }
    const double all = schedules(local_heads(), config_.search.max_bands);
    if (all > kMostSchedules) {
      fail("search.max_bands",
           fmt::format("{} heads have {} schedules of at most {} bands; auto compares at most {}",
                       local_heads(), all, config_.search.max_bands, kMostSchedules));
    }
  }

  std::uint32_t local_heads() const { return config_.shape.heads / config_.shape.world; }
  std::size_t bands(const VariantConfig& c) const {
    return c.schedule ? c.schedule->size() : default_schedule(local_heads()).size();
  }

  const UlyssesConfig& config_;
};

}  // namespace

void check(const UlyssesConfig& config, const yaml::Origins& origins) {
  UlyssesRules(config, origins).check();
}

}  // namespace syncopate::experiments
