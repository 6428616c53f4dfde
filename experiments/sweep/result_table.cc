#include "experiments/sweep/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace syncopate::experiments {
namespace {

using Json = nlohmann::ordered_json;
using Of = FigureColumn::Of;

/// Of every row, before the axes' columns. Those with a dot are keys of a configuration.
enum Front : std::size_t { kPoint, kRepeat, kStatus, kError, kFolder, kProgram, kFirstKey };
constexpr std::string_view kFront[] = {"point", "repeat", "status", "error", "folder", "program"};
constexpr std::string_view kKeys[] = {"runtime.kind", "runtime.profile", "strategy.kind"};

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

template <class Cells, class Text>
std::string joined(const Cells& cells, const Text& text) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    out += text(cells[i]);
  }
  return out + '\n';
}

/// [7, 14, 7] as "7+14+7": one word to group by.
Json flat(const Json& value) {
  if (!value.is_array()) return value;
  std::string out;
  for (const Json& item : value) out += fmt::format("{}{}", out.empty() ? "" : "+", item.dump());
  return out;
}

void add_figures(ResultRow& row, const Json& figures, Of of) {
  const auto& columns = figure_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].of != of) continue;
    const Json::json_pointer pointer{std::string(columns[i].pointer)};
    if (figures.contains(pointer)) row[i] = flat(figures.at(pointer));
  }
}

}  // namespace

const std::vector<FigureColumn>& figure_columns() {
  static const std::vector<FigureColumn> kColumns{
      {"variant", "/name", Of::kVariant},
      {"variant_strategy", "/strategy", Of::kVariant},
      {"variant_schedule_heads", "/schedule", Of::kVariant},
      {"variant_slots", "/slots", Of::kVariant},
      {"variant_enqueue", "/enqueue", Of::kVariant},
      {"variant_transport", "/transport", Of::kVariant},
      {"variant_graphs", "/graphs", Of::kVariant},
      {"variant_workspace", "/workspace", Of::kVariant},
      {"steps", "/steps", Of::kRun},
      {"races", "/races", Of::kRun},
      {"tokens_digest", "/tokens_digest"},
      {"total_time_s", "/total_time_s"},
      {"tokens", "/tokens"},
      {"tokens_per_s", "/tokens_per_s"},
      {"device_active_pct", "/device_active_pct"},
      {"kernel_active_pct", "/kernel_active_pct"},
      {"host_busy_pct", "/host_busy_pct"},
      {"idle_host_ms", "/idle_ms_by_cause/host"},
      {"idle_copy_ms", "/idle_ms_by_cause/copy"},
      {"idle_event_ms", "/idle_ms_by_cause/event"},
      {"idle_launch_ms", "/idle_ms_by_cause/launch"},
      {"idle_drain_ms", "/idle_ms_by_cause/drain"},
      {"step_mean_ms", "/step_time_ms/mean"},
      {"step_p50_ms", "/step_time_ms/p50"},
      {"step_p90_ms", "/step_time_ms/p90"},
      {"step_p99_ms", "/step_time_ms/p99"},
      {"host_per_step_mean_us", "/host_us_per_step/mean"},
      {"host_per_step_p50_us", "/host_us_per_step/p50"},
      {"host_per_step_p99_us", "/host_us_per_step/p99"},
      {"requests_count", "/batching/requests"},
      {"requests_refused", "/batching/requests_refused"},
      {"requests_cancelled", "/batching/requests_cancelled"},
      {"preemptions", "/batching/preemptions"},
      {"rows_computed", "/batching/rows_computed"},
      {"rows_discarded", "/batching/rows_discarded"},
      {"slot_bytes", "/batching/slot_bytes"},
      {"ttft_mean_ms", "/batching/ttft_ms/mean"},
      {"ttft_p50_ms", "/batching/ttft_ms/p50"},
      {"ttft_p90_ms", "/batching/ttft_ms/p90"},
      {"ttft_p99_ms", "/batching/ttft_ms/p99"},
      {"tpot_mean_ms", "/batching/tpot_ms/mean"},
      {"tpot_p50_ms", "/batching/tpot_ms/p50"},
      {"tpot_p90_ms", "/batching/tpot_ms/p90"},
      {"tpot_p99_ms", "/batching/tpot_ms/p99"},
      {"itl_mean_ms", "/batching/itl_ms/mean"},
      {"itl_p50_ms", "/batching/itl_ms/p50"},
      {"itl_p90_ms", "/batching/itl_ms/p90"},
      {"itl_p99_ms", "/batching/itl_ms/p99"},
      {"slo_met_pct", "/batching/slo/met_pct"},
      {"goodput_requests_per_s", "/batching/slo/goodput_requests_per_s"},
      {"iterations", "/iterations", Of::kVariant},
      {"pass_median_ms", "/median_ms", Of::kVariant},
      {"pass_p90_ms", "/p90_ms", Of::kVariant},
      {"pass_min_ms", "/min_ms", Of::kVariant},
      {"pass_max_ms", "/max_ms", Of::kVariant},
      {"host_per_pass_us", "/host_us_per_pass", Of::kVariant},
      {"speedup_over_ordinary", "/speedup_over_ordinary", Of::kVariant},
      {"speedup_over_whole_fused", "/speedup_over_whole_fused", Of::kVariant},
      {"communication_ms", "/communication_ms", Of::kVariant},
      {"exposed_ms", "/exposed_ms", Of::kVariant},
      {"hidden_pct", "/hidden_pct", Of::kVariant},
      {"limit_ms", "/limit_ms", Of::kVariant},
      {"difference", "/difference", Of::kVariant},
      {"workspace_bytes", "/workspace_bytes", Of::kVariant},
      {"sent_qkv_bytes", "/sent_bytes/qkv", Of::kVariant},
      {"sent_output_bytes", "/sent_bytes/output", Of::kVariant},
  };
  return kColumns;
}

std::vector<ResultRow> figure_rows(const Json& figures) {
  ResultRow row(figure_columns().size());
  add_figures(row, figures, Of::kRun);
  if (!figures.contains("ulysses")) {
    add_figures(row, figures, Of::kBatching);
    return {std::move(row)};
  }
  std::vector<ResultRow> rows;
  for (const Json& variant : figures.at("ulysses").at("variants")) {
    add_figures(rows.emplace_back(row), variant, Of::kVariant);
  }
  return rows;
}

ResultTable::ResultTable(const SweepPlan& plan)
    : plan_(plan), columns_(std::begin(kFront), std::end(kFront)) {
  columns_.insert(columns_.end(), std::begin(kKeys), std::end(kKeys));
  for (const std::string& key : plan.keys) {
    const auto known = std::ranges::find(columns_, key);
    of_key_.push_back(static_cast<std::size_t>(known - columns_.begin()));
    if (known == columns_.end()) columns_.push_back(key);
  }
  first_figure_ = columns_.size();
  for (const FigureColumn& column : figure_columns()) columns_.emplace_back(column.name);
}

ResultRow ResultTable::begin_row(std::size_t number, const char* status) const {
  const SweepPoint& point = plan_.points[number];
  ResultRow row(columns_.size());
  row[kPoint] = number;
  row[kRepeat] = point.repeat;
  row[kStatus] = status;
  row[kFolder] = "points/" + point.name;
  row[kProgram] = std::visit([](const auto& c) { return c.kKind; }, point.config.config);
  const RuntimeConfig& runtime = runtime_of(point.config.config);
  row[kFirstKey] = yaml::name_of(runtime.kind);
  if (point.config.profile) row[kFirstKey + 1] = point.config.profile->profile.name;
  if (const auto* c = std::get_if<BatchingConfig>(&point.config.config)) {
    row[kFirstKey + 2] = yaml::name_of(c->strategy.kind);
  }
  for (std::size_t i = 0; i < of_key_.size(); ++i) row[of_key_[i]] = to_json(point.values[i]);
  return row;
}

std::vector<ResultRow> ResultTable::rows(std::size_t number, const Json& figures) const {
  const ResultRow front = begin_row(number, "ok");
  std::vector<ResultRow> rows;
  for (const ResultRow& cells : figure_rows(figures)) {
    ResultRow& row = rows.emplace_back(front);
    std::ranges::copy(cells, row.begin() + static_cast<std::ptrdiff_t>(first_figure_));
  }
  return rows;
}

ResultRow ResultTable::failed_row(std::size_t number, const std::string& error) const {
  ResultRow row = begin_row(number, "failed");
  row[kFolder] = nullptr;
  row[kError] = error;
  return row;
}

Json to_json(const yaml::Node& value) {
  switch (value.kind) {
    case yaml::Node::Kind::kNull:
      return nullptr;
    case yaml::Node::Kind::kList: {
      Json list = Json::array();
      for (const yaml::Node& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case yaml::Node::Kind::kMap: {
      Json map = Json::object();
      for (const auto& entry : value.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
    case yaml::Node::Kind::kScalar:
      break;
  }
  if (value.quoted) return value.text;
  if (value.text == "true" || value.text == "on") return true;
  if (value.text == "false" || value.text == "off") return false;
  Json number = Json::parse(value.text, nullptr, false);
  return number.is_number() ? number : Json(value.text);
}

std::string results_csv(const std::vector<std::string>& columns,
                        const std::vector<ResultRow>& rows) {
  std::string out = joined(columns, [](const std::string& name) { return cell(name); });
  for (const ResultRow& row : rows) out += joined(row, cell);
  return out;
}

std::string results_json(const std::vector<std::string>& columns,
                         const std::vector<ResultRow>& rows) {
  std::string out = "[";
  for (const ResultRow& row : rows) {
    out += out.size() > 1 ? ",\n{" : "\n{";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out += fmt::format("{}{}: {}", i > 0 ? ", " : "", Json(columns[i]).dump(), row[i].dump());
    }
    out += '}';
  }
  return out + "\n]\n";
}

}  // namespace syncopate::experiments
