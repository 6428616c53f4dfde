// Two runs or two sweeps, side by side.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "experiments/sweep/bootstrap.h"
#include "experiments/sweep/result_table.h"

namespace syncopate::experiments {

/// What was to be compared cannot be.
class ComparisonError : public runtime::Error {
  using Error::Error;
};

/// The rows of a run or of a sweep, without those that failed.
struct Compared {
  std::filesystem::path folder;
  std::vector<std::string> columns;
  std::vector<ResultRow> rows;
  std::size_t failed = 0;

  /// The column's place, if it is there.
  std::optional<std::size_t> find(const std::string& column) const;
};

/// Reads a run's folder or a sweep's. Of a run, every value of its configuration is a column, named
/// by its key. Throws ComparisonError.
Compared load_compared(const std::filesystem::path& folder);

/// One figure of those rows of A and of B that agree in the keys.
struct Difference {
  std::vector<std::string> keys;  ///< Their values, as cells of a table.
  std::string figure;
  std::size_t count_a = 0;  ///< Rows: more than one are repeats.
  std::size_t count_b = 0;
  nlohmann::ordered_json a;  ///< The mean; or the text, where all rows have the same.
  nlohmann::ordered_json b;
  std::optional<double> ratio;   ///< b / a.
  std::optional<Bounds> bounds;  ///< Of the ratio, with repeats.
};

struct Comparison {
  std::vector<std::string> keys;
  std::vector<Difference> differences;
  /// "runtime.kind: sim, cpu": what is one value in A and another in B.
  std::vector<std::string> settings;
  std::size_t only_a = 0;  ///< Combinations of the keys that the other lacks.
  std::size_t only_b = 0;
};

/// `by`: columns that both have; rows that agree in them are compared, and others that they differ
/// in count as repeats. Empty: what either varies, if both have it, and the variant. `figures`:
/// columns; empty: those that are looked at first. Throws ComparisonError.
Comparison compare(const Compared& a, const Compared& b, std::vector<std::string> by,
                   std::vector<std::string> figures);

}  // namespace syncopate::experiments
