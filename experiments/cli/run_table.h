// The table that `run` ends with: a row a run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/cli/table.h"
#include "experiments/config/load.h"

namespace syncopate::experiments::cli {

std::vector<Column> run_columns();

/// A run's cells, from its metrics.json (metrics() in run/report.h); "-" for what it does not have.
std::vector<std::string> run_row(const ResolvedConfig& config,
                                 const nlohmann::ordered_json& figures);

}  // namespace syncopate::experiments::cli
