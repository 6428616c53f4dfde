#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/critical_path.h"
#include "analysis/error.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/run_timeline.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"
#include "experiments/units.h"

namespace syncopate::experiments::cli {
namespace {

/// What contradicts itself came out of the file: the message has to say which.
std::vector<analysis::PathSegment> path_of(const RunTimeline& run) {
  try {
    return analysis::critical_path(run.timeline);
  } catch (const analysis::InvalidTimelineError& error) {
    throw analysis::FileError(fmt::format("{}: {}", run.file.string(), error.what()));
  }
}

}  // namespace

int print_critical_path(const std::string& folder) {
  const RunTimeline run = read_run_timeline(folder);
  const std::vector<analysis::PathSegment> path = path_of(run);
  if (path.empty()) {
    fmt::print("no operation has times\n");
    return kOk;
  }
  const runtime::Nanos whole = path.back().end;
  std::vector<std::vector<std::string>> rows;
  for (const analysis::PathShare& share : analysis::path_shares(run.timeline, path)) {
    rows.push_back({to_string(share.use), share.name, fmt::format("{}", share.count),
                    fmt::format("{:.3f}", milliseconds(share.total)),
                    fmt::format("{:.1f}", 100 * static_cast<double>(share.total) /
                                              static_cast<double>(whole))});
  }
  const std::vector<Column> columns = {
      {"time of", false}, {"name", false}, {"times"}, {"ms"}, {"%"}};
  fmt::print("{}\n{:.3f} ms in all\n", format_table(columns, rows, output_takes_colour()),
             milliseconds(whole));
  return kOk;
}

}  // namespace syncopate::experiments::cli
