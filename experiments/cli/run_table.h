// The tables that `run` ends with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/cli/table.h"
#include "experiments/config/load.h"

namespace syncopate::experiments::cli {

/// A table of each program, empty while no run of it was added.
class RunTables {
 public:
  /// Adds a run, from its metrics.json (metrics() in run/report.h): one row, or one for each
  /// variant. "-" stands for what it does not have.
  void add(const ResolvedConfig& config, const nlohmann::ordered_json& figures);
  /// Those that are not empty, each with a blank line before it.
  std::string text(bool bold_head) const;

 private:
  std::vector<std::vector<std::string>> batching_;
  std::vector<std::vector<std::string>> ulysses_;
};

}  // namespace syncopate::experiments::cli
