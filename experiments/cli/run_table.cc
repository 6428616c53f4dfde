#include "experiments/cli/run_table.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<std::string> run_row(const ResolvedConfig& config, const Json& figures) {
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

std::vector<Column> run_columns() {
  return {{"config", false}, {"runtime", false}, {"strategy", false}, {"steps"},        {"time s"},
          {"step ms"},       {"tokens/s"},       {"device active %"}, {"host us/step"}, {"digest"},
          {"races"}};
}

}  // namespace syncopate::experiments::cli
