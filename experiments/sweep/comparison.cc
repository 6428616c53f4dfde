#include "experiments/sweep/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/sweep/sweep_folder.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"
#include "experiments/yaml/node.h"

namespace syncopate::experiments {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFirstFigures[] = {
    "total_time_s",         "tokens_per_s",          "step_mean_ms", "device_active_pct",
    "ttft_p50_ms",          "host_per_step_mean_us", "itl_p99_ms",   "tokens_digest",
    "pass_median_ms",       "pass_p90_ms",           "exposed_ms",   "hidden_pct",
    "speedup_over_ordinary"};

Json read_whole_json(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Json read = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!stream || read.is_discarded()) {
    throw ComparisonError(file.string() + ": cannot be read, or is no JSON");
  }
  return read;
}

/// A leaf of a configuration has a dot in its key; a column of the table that is none has not.
bool is_key(std::string_view column) { return column.find('.') != std::string_view::npos; }

void add_leaves(const yaml::Node& node, const std::string& path, Compared& out, ResultRow& cells) {
  if (node.kind == yaml::Node::Kind::kMap && !node.entries.empty()) {
    for (const auto& [key, where, value] : node.entries) {
      add_leaves(value, path.empty() ? key : fmt::format("{}.{}", path, key), out, cells);
    }
    return;
  }
  out.columns.push_back(path);
  cells.push_back(to_json(node));
}

Compared load_run(const fs::path& folder) {
  const Json figures = read_whole_json(folder / "metrics.json");
  if (!figures.is_object() || !figures.value("complete", false)) {
    throw ComparisonError(folder.string() + ": is of a run that did not come to its end");
  }
  Compared out;
  ResultRow front;
  add_leaves(yaml::load(folder / "config.yaml"), "", out, front);
  for (const FigureColumn& column : figure_columns()) out.columns.emplace_back(column.name);
  for (const ResultRow& cells : figure_rows(figures)) {
    ResultRow& row = out.rows.emplace_back(front);
    row.insert(row.end(), cells.begin(), cells.end());
  }
  return out;
}

Compared load_table(const fs::path& folder) {
  const fs::path file = folder / kResultsJson;
  if (!fs::exists(file)) {
    throw ComparisonError(folder.string() + ": is of a sweep that is not finished: --resume it");
  }
  const Json table = read_whole_json(file);
  Compared out;
  for (const Json& row : table) {
    if (!row.is_object()) throw ComparisonError(file.string() + ": is no table of a sweep");
    if (out.columns.empty()) {
      for (const auto& item : row.items()) out.columns.push_back(item.key());
    }
    if (row.value("status", "") != "ok") {
      ++out.failed;
      continue;
    }
    ResultRow& cells = out.rows.emplace_back();
    for (const std::string& column : out.columns) cells.push_back(row.value(column, Json()));
  }
  return out;
}

std::string text_of(const Json& cell) {
  if (cell.is_null()) return "-";
  return cell.is_string() ? cell.get<std::string>() : cell.dump();
}

/// Throws unless both have the column.
void require(const Compared& a, const Compared& b, const std::string& column) {
  for (const Compared* side : {&a, &b}) {
    if (side->find(column)) continue;
    const auto near = yaml::nearest(column, {side->columns.begin(), side->columns.end()});
    throw ComparisonError(fmt::format("{} has no column '{}'{}", side->folder.string(), column,
                                      near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }
}

std::set<std::string> values_in(const Compared& side, const std::string& column) {
  std::set<std::string> out;
  const std::size_t at = side.find(column).value();
  for (const ResultRow& row : side.rows) out.insert(text_of(row[at]));
  return out;
}

std::vector<std::string> varied_keys(const Compared& a, const Compared& b) {
  std::vector<std::string> out;
  for (const std::string& column : a.columns) {
    if (!b.find(column) || (!is_key(column) && column != "variant")) continue;
    if (values_in(a, column).size() > 1 || values_in(b, column).size() > 1) out.push_back(column);
  }
  return out;
}

std::vector<std::string> different_settings(const Compared& a, const Compared& b) {
  std::vector<std::string> out;
  for (const std::string& column : a.columns) {
    if (!is_key(column) || !b.find(column)) continue;
    const auto in_a = values_in(a, column);
    const auto in_b = values_in(b, column);
    if (in_a.size() != 1 || in_b.size() != 1 || in_a == in_b) continue;
    out.push_back(fmt::format("{}: {}, {}", column, *in_a.begin(), *in_b.begin()));
  }
  return out;
}

/// Rows that agree in the keys.
struct Group {
  std::vector<const ResultRow*> a;
  std::vector<const ResultRow*> b;
};
/// Groups in the order in which A, then B, has them.
class Groups {
 public:
  explicit Groups(const std::vector<std::string>& keys) : keys_(keys) {}

  void add(const Compared& side, std::vector<const ResultRow*> Group::* of) {
    std::vector<std::size_t> at;
    for (const std::string& key : keys_) at.push_back(side.find(key).value());
    for (const ResultRow& row : side.rows) {
      std::vector<std::string> values;
      for (const std::size_t i : at) values.push_back(text_of(row[i]));
      const auto [entry, added] = places_.emplace(values, groups_.size());
      if (added) groups_.push_back({values, {}});
      (groups_[entry->second].second.*of).push_back(&row);
    }
  }
  const auto& all() const { return groups_; }

 private:
  const std::vector<std::string>& keys_;
  std::map<std::vector<std::string>, std::size_t> places_;
  std::vector<std::pair<std::vector<std::string>, Group>> groups_;
};

/// Of the rows that have it.
std::vector<Json> cells_of(const std::vector<const ResultRow*>& rows, std::size_t column) {
  std::vector<Json> out;
  for (const ResultRow* row : rows) {
    if (!(*row)[column].is_null()) out.push_back((*row)[column]);
  }
  return out;
}

std::vector<double> numbers_of(const std::vector<Json>& cells) {
  std::vector<double> out;
  for (const Json& cell : cells) {
    if (cell.is_number()) out.push_back(cell.get<double>());
  }
  return out;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Json one_text(const std::vector<Json>& cells) {
  const bool same = std::ranges::all_of(cells, [&](const Json& c) { return c == cells.front(); });
  return same ? Json(text_of(cells.front())) : Json("various");
}

std::optional<Difference> difference(const std::vector<Json>& a, const std::vector<Json>& b) {
  if (a.empty() || b.empty()) return {};
  Difference out;
  out.count_a = a.size();
  out.count_b = b.size();
  const std::vector<double> left = numbers_of(a);
  const std::vector<double> right = numbers_of(b);
  if (left.size() != a.size() || right.size() != b.size()) {
    out.a = one_text(a);
    out.b = one_text(b);
    return out;
  }
  out.a = mean(left);
  out.b = mean(right);
  if (mean(left) != 0) out.ratio = mean(right) / mean(left);
  out.bounds = ratio_bounds(left, right);
  return out;
}

}  // namespace

std::optional<std::size_t> Compared::find(const std::string& column) const {
  const auto at = std::ranges::find(columns, column);
  if (at == columns.end()) return {};
  return static_cast<std::size_t>(at - columns.begin());
}

Compared load_compared(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw ComparisonError(folder.string() + ": no such folder");
  }
  Compared out;
  if (is_sweep_folder(folder)) {
    out = load_table(folder);
  } else if (fs::exists(folder / "metrics.json", error)) {
    out = load_run(folder);
  } else {
    throw ComparisonError(folder.string() + ": is neither a run's folder nor a sweep's");
  }
  out.folder = folder;
  if (out.rows.empty()) throw ComparisonError(folder.string() + ": every point failed");
  return out;
}

Comparison compare(const Compared& a, const Compared& b, std::vector<std::string> by,
                   std::vector<std::string> figures) {
  for (const auto* columns : {&by, &figures}) {
    for (const std::string& column : *columns) require(a, b, column);
  }
  Comparison out;
  out.keys = by.empty() ? varied_keys(a, b) : std::move(by);
  if (figures.empty()) figures.assign(std::begin(kFirstFigures), std::end(kFirstFigures));
  Groups groups(out.keys);
  groups.add(a, &Group::a);
  groups.add(b, &Group::b);
  for (const auto& [values, group] : groups.all()) {
    out.only_a += static_cast<std::size_t>(group.b.empty());
    out.only_b += static_cast<std::size_t>(group.a.empty());
    for (const std::string& figure : figures) {
      auto made = difference(cells_of(group.a, a.find(figure).value()),
                             cells_of(group.b, b.find(figure).value()));
      if (!made) continue;
      made->keys = values;
      made->figure = figure;
      out.differences.push_back(std::move(*made));
    }
  }
  out.settings = different_settings(a, b);
  if (out.differences.empty()) {
    throw ComparisonError(fmt::format(
        "{} and {} have nothing to compare: no rows agree in {}", a.folder.string(),
        b.folder.string(), out.keys.empty() ? "a figure" : fmt::format("{}", out.keys.front())));
  }
  return out;
}

}  // namespace syncopate::experiments
