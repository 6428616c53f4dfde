#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"
#include "experiments/config/load.h"
#include "experiments/run/available.h"
#include "experiments/whatif/whatif.h"

namespace syncopate::experiments::cli {

int print_what_if(const WhatIfArguments& arguments) {
  const ResolvedConfig config = load_config(arguments.config, {arguments.sets, {}, false});
  check_available(config);
  std::vector<Change> changes;
  try {
    changes = what_if(config);
  } catch (const NoWhatIfError& error) {
    throw RefusedError(fmt::format("{}: {}", arguments.config, error.what()));
  }
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : changes) {
    rows.push_back({change.what, fmt::format("{:.3f}", change.total_s),
                    fmt::format("{:.3f}", change.step_ms),
                    fmt::format("{:.1f}", change.device_active_pct),
                    fmt::format("{:.3f}", changes.front().total_s / change.total_s)});
  }
  const std::vector<Column> columns = {
      {"change", false}, {"time s"}, {"step ms"}, {"device active %"}, {"x as it is"}};
  fmt::print("{}", format_table(columns, rows, output_takes_colour()));
  return kOk;
}

}  // namespace syncopate::experiments::cli
