#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "analysis/races.h"
#include "analysis/timeline_io.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"

namespace syncopate::experiments::cli {

int check_run(const std::string& folder) {
  const std::filesystem::path file = std::filesystem::path(folder) / "timeline.json";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw NoRunError(folder + ": no such run");
  }
  if (!std::filesystem::exists(file, error)) {
    throw NoRunError(folder + " has no timeline.json: run it with output.log on");
  }
  const runtime::Timeline timeline = analysis::read_timeline(file);
  const auto races = analysis::summarize(timeline, analysis::find_races(timeline));
  for (const analysis::RaceSummary& race : races) {
    fmt::print("{}\n", analysis::describe(timeline, race));
  }
  if (races.empty()) fmt::print("no races in {} operations\n", timeline.operations.size());
  return races.empty() ? kOk : kRacesFound;
}

}  // namespace syncopate::experiments::cli
