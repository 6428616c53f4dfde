#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"
#include "experiments/sweep/comparison.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

bool beyond_noise(const Difference& row) {
  return row.bounds && (row.bounds->low > 1 || row.bounds->high < 1);
}

bool is_text(const Difference& row) { return row.a.is_string() || row.b.is_string(); }

/// With six digits, for people.
std::string short_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>());
}

std::string change(const Difference& row) {
  if (is_text(row)) return row.a == row.b && row.a != "various" ? "same" : "differs";
  return fmt::format("{:+.6g}", row.b.get<double>() - row.a.get<double>());
}

std::vector<Column> columns_for_people(const Comparison& comparison) {
  std::vector<Column> out;
  for (const std::string& key : comparison.keys) out.push_back({key, false});
  out.push_back({"figure", false});
  for (const char* title : {"A", "B", "B - A", "B / A", "95 % of B / A", "rows", "beyond noise"}) {
    out.push_back({title});
  }
  return out;
}

Rows rows_for_people(const Comparison& comparison) {
  Rows out;
  for (const Difference& row : comparison.differences) {
    auto& cells = out.emplace_back(row.keys);
    const bool repeated = row.bounds.has_value();
    cells.insert(
        cells.end(),
        {row.figure, short_text(row.a), short_text(row.b), change(row),
         row.ratio ? fmt::format("{:.4f}", *row.ratio) : "-",
         repeated ? fmt::format("{:.4f} to {:.4f}", row.bounds->low, row.bounds->high) : "-",
         row.count_a == row.count_b ? fmt::format("{}", row.count_a)
                                    : fmt::format("{}, {}", row.count_a, row.count_b),
         !repeated           ? "-"
         : beyond_noise(row) ? "yes"
                             : "no"});
    for (std::string& cell : cells) cell = yaml::printable(cell);
  }
  return out;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) {
    out += ' ';
    for (const char c : cell) {
      if (c == '|') out += '\\';
      out += c;
    }
    out += " |";
  }
  return out + '\n';
}

std::string markdown(const std::vector<Column>& columns, const Rows& rows) {
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    rules.emplace_back(column.right ? "---:" : "---");
  }
  std::string out = markdown_line(titles) + markdown_line(rules);
  for (const auto& row : rows) out += markdown_line(row);
  return out;
}

/// All digits; no interval where there are no repeats.
std::string csv(const Comparison& comparison) {
  std::vector<std::string> columns = comparison.keys;
  for (const char* name :
       {"figure", "a", "b", "difference", "ratio", "ratio_low", "ratio_high", "rows_a", "rows_b"}) {
    columns.emplace_back(name);
  }
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  std::vector<ResultRow> rows;
  for (const Difference& row : comparison.differences) {
    ResultRow& cells = rows.emplace_back(row.keys.begin(), row.keys.end());
    cells.insert(cells.end(), {row.figure, row.a, row.b});
    cells.push_back(is_text(row) ? Json(nullptr) : Json(row.b.get<double>() - row.a.get<double>()));
    cells.push_back(or_null(row.ratio));
    cells.push_back(row.bounds ? Json(row.bounds->low) : Json(nullptr));
    cells.push_back(row.bounds ? Json(row.bounds->high) : Json(nullptr));
    cells.emplace_back(row.count_a);
    cells.emplace_back(row.count_b);
  }
  return results_csv(columns, rows);
}

void print_head(const Compared& a, const Compared& b, const Comparison& comparison,
                const char* bullet) {
  fmt::print("{0}A: {1}\n{0}B: {2}\n", bullet, a.folder.string(), b.folder.string());
  for (const std::string& setting : comparison.settings) {
    fmt::print("{}{}\n", bullet, yaml::printable(setting));
  }
  fmt::print("\n");
}

void print_rest(const char* name, std::size_t only, std::size_t failed) {
  if (only > 0) fmt::print(stderr, "syncopate: {} combinations are in {} alone\n", only, name);
  if (failed > 0) fmt::print(stderr, "syncopate: {} points of {} failed\n", failed, name);
}

}  // namespace

int compare_results(const CompareArguments& arguments) {
  const Compared a = load_compared(arguments.a);
  const Compared b = load_compared(arguments.b);
  const Comparison comparison = compare(a, b, arguments.by, arguments.figures);
  const auto columns = columns_for_people(comparison);
  if (arguments.format == "csv") {
    fmt::print("{}", csv(comparison));
  } else if (arguments.format == "markdown") {
    print_head(a, b, comparison, "- ");
    fmt::print("{}", markdown(columns, rows_for_people(comparison)));
  } else {
    print_head(a, b, comparison, "");
    fmt::print("{}", format_table(columns, rows_for_people(comparison), output_takes_colour()));
  }
  std::fflush(stdout);
  print_rest("A", comparison.only_a, a.failed);
  print_rest("B", comparison.only_b, b.failed);
  return kOk;
}

}  // namespace syncopate::experiments::cli
