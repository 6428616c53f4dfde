#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"

namespace syncopate::experiments::cli {
namespace {

std::string name_of(const Prediction& row) {
  std::string name = row.async ? fmt::format("async, {} slots", row.slots) : "ordered";
  return row.graphs ? name + ", graphs" : name;
}

std::string verdict(const PredictArguments& arguments) {
  const StepHalves& h = arguments.halves;
  const double sum = h.host_ms + h.device_ms;
  const double longer = std::max(h.host_ms, h.device_ms);
  const std::string most =
      fmt::format("Overlap alone gains at most {:.3f} times: (host + device) / the longer of them.",
                  sum / longer);
  if (h.device_ms >= h.host_ms) {
    return fmt::format(
        "The device sets the pace: what overlap can hide is the host's {:.1f} %.\n{}",
        100 * h.host_ms / sum, most);
  }
  return fmt::format(
      "The host sets the pace: overlap hides the device's {:.1f} %, and then only less work of the "
      "host is faster.\n{}",
      100 * h.device_ms / sum, most);
}

}  // namespace

int predict_step(const PredictArguments& arguments) {
  std::vector<Prediction> rows;
  try {
    rows = predict_strategies(arguments.halves);
  } catch (const runtime::UsageError& error) {
    throw RefusedError(std::string("predict: ") + error.what());
  }
  std::vector<std::vector<std::string>> cells;
  for (const Prediction& row : rows) {
    cells.push_back({name_of(row), fmt::format("{:.3f}", row.step_ms),
                     fmt::format("{:.1f}", arguments.batch / row.step_ms * 1e3),
                     fmt::format("{:.1f}", row.device_active_pct),
                     fmt::format("{:.3f}", rows.front().step_ms / row.step_ms)});
  }
  const std::vector<Column> columns = {
      {"strategy", false}, {"step ms"}, {"tokens/s"}, {"device active %"}, {"x ordered"}};
  fmt::print("{}\n{}\n", format_table(columns, cells, output_takes_colour()), verdict(arguments));
  return kOk;
}

}  // namespace syncopate::experiments::cli
