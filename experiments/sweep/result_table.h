// The table of a sweep: the same columns for every runtime and both programs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/config/sweep_points.h"

namespace syncopate::experiments {

/// One cell a column; null where there is nothing to say.
using ResultRow = std::vector<nlohmann::ordered_json>;

/// Where a figure is found in metrics.json (metrics() in run/report.h), and which rows have it.
struct FigureColumn {
  enum class Of { kRun, kBatching, kVariant };  ///< Of a variant: in its own object.
  std::string_view name;                        ///< Ends in its unit, if it has one.
  std::string_view pointer;
  Of of = Of::kBatching;
};
const std::vector<FigureColumn>& figure_columns();

/// The cells of figure_columns(): one row, or of the Ulysses program one for each variant.
/// `figures` is a metrics.json.
std::vector<ResultRow> figure_rows(const nlohmann::ordered_json& figures);

/// Names and rows, as results.csv and results.json have them.
class ResultTable {
 public:
  explicit ResultTable(const SweepPlan& plan);

  const std::vector<std::string>& columns() const { return columns_; }

  /// The rows of a finished point: one, or of the Ulysses program one for each variant. `number` is
  /// its place in the plan. `figures` are its metrics.json.
  std::vector<ResultRow> rows(std::size_t number, const nlohmann::ordered_json& figures) const;
  /// The row of a point that failed.
  ResultRow failed_row(std::size_t number, const std::string& error) const;

 private:
  ResultRow begin_row(std::size_t number, const char* status) const;

  const SweepPlan& plan_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> of_key_;  ///< The column of each of the plan's keys.
  std::size_t first_figure_ = 0;
};

/// A value of a configuration as JSON has it.
nlohmann::ordered_json to_json(const yaml::Node& value);

/// Header and rows. Lists are JSON in a quoted cell; null is empty.
std::string results_csv(const std::vector<std::string>& columns,
                        const std::vector<ResultRow>& rows);
/// An array of objects, one a line.
std::string results_json(const std::vector<std::string>& columns,
                         const std::vector<ResultRow>& rows);

}  // namespace syncopate::experiments
