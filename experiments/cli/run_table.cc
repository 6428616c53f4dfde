#include "experiments/cli/run_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace syncopate::experiments::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A number with `digits` after the point, or "-" where there is none.
std::string number(const Json& value, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

/// The mean of a distribution, which is null when it has no values.
std::string mean(const Json& distribution, int digits) {
  return distribution.is_object() ? number(distribution["mean"], digits) : "-";
}

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::string strategy(const StrategyConfig& c) {
  std::string out(yaml::name_of(c.kind));
  if (c.kind == StrategyKind::kAsync) out += fmt::format(", {} slots", c.slots.value());
  return c.graphs ? out + ", graphs" : out;
}

std::vector<std::string> batching_row(const ResolvedConfig& config, const Json& figures) {
  const auto& c = std::get<BatchingConfig>(config.config);
  return {config.file.stem().string(),
          std::string(yaml::name_of(c.runtime.kind)),
          strategy(c.strategy),
          text(figures["steps"]),
          number(figures["total_time_s"], 3),
          mean(figures["step_time_ms"], 3),
          number(figures["tokens_per_s"], 0),
          number(figures["device_active_pct"], 1),
          mean(figures["host_us_per_step"], 1),
          text(figures["tokens_digest"]),
          text(figures["races"])};
}

std::vector<Column> batching_columns() {
  return {{"config", false}, {"runtime", false}, {"strategy", false}, {"steps"},        {"time s"},
          {"step ms"},       {"tokens/s"},       {"device active %"}, {"host us/step"}, {"digest"},
          {"races"}};
}

std::string difference(const Json& value) {
  return value.is_number() ? fmt::format("{:.2g}", value.get<double>()) : text(value);
}

/// With what auto came to.
std::string variant_name(const Json& variant) {
  const std::string name = text(variant["name"]);
  return variant["search"].is_null() ? name
                                     : fmt::format("{}: {}", name, text(variant["strategy"]));
}

std::vector<std::string> variant_row(const ResolvedConfig& config, const Json& variant) {
  return {config.file.stem().string(),
          std::string(yaml::name_of(runtime_of(config.config).kind)),
          variant_name(variant),
          fmt::format("{}", fmt::join(variant["schedule"].get<std::vector<int>>(), "+")),
          text(variant["transport"]),
          number(variant["median_ms"], 3),
          number(variant["p90_ms"], 3),
          number(variant["min_ms"], 3),
          number(variant["max_ms"], 3),
          number(variant["speedup_over_ordinary"], 3),
          number(variant["speedup_over_whole_fused"], 3),
          number(variant["exposed_ms"], 3),
          number(variant["host_us_per_pass"], 1),
          difference(variant["difference"])};
}

std::vector<Column> variant_columns() {
  return {{"config", false},
          {"runtime", false},
          {"variant", false},
          {"schedule", false},
          {"transport", false},
          {"median ms"},
          {"p90"},
          {"min"},
          {"max"},
          {"x ordinary"},
          {"x fused"},
          {"exposed ms"},
          {"host us"},
          {"difference"}};
}

}  // namespace

void RunTables::add(const ResolvedConfig& config, const Json& figures) {
  if (!figures.contains("ulysses")) {
    batching_.push_back(batching_row(config, figures));
    return;
  }
  for (const Json& variant : figures["ulysses"]["variants"]) {
    ulysses_.push_back(variant_row(config, variant));
  }
}

std::string RunTables::text(bool bold_head) const {
  std::string out;
  if (!batching_.empty()) out += '\n' + format_table(batching_columns(), batching_, bold_head);
  if (!ulysses_.empty()) out += '\n' + format_table(variant_columns(), ulysses_, bold_head);
  return out;
}

}  // namespace syncopate::experiments::cli
