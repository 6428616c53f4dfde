#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/error.h"
#include "analysis/races.h"
#include "analysis/timeline_io.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"

namespace syncopate::experiments::cli {

namespace {

/// What contradicts itself came out of the file: the message has to say which.
std::vector<analysis::Race> races_of(const runtime::Timeline& timeline,
                                     const std::filesystem::path& file) {
  try {
    return analysis::find_races(timeline);
  } catch (const runtime::Error& error) {
    throw analysis::FileError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace

int check_run(const std::string& folder, bool all) {
  const std::filesystem::path file = std::filesystem::path(folder) / "timeline.json";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw NoRunError(folder + ": no such run");
  }
  if (!std::filesystem::is_regular_file(file, error)) {
    throw NoRunError(folder + " has no timeline.json: run it with output.log on");
  }
  const runtime::Timeline timeline = analysis::read_timeline(file);
  const std::vector<analysis::Race> races = races_of(timeline, file);
  if (races.empty()) {
    fmt::print("no races in {} operations\n", timeline.operations.size());
    return kOk;
  }
  const auto kinds = analysis::summarize(timeline, races);
  if (all) {
    for (const analysis::Race& race : races) fmt::print("{}\n", analysis::describe(timeline, race));
  } else {
    for (const analysis::RaceSummary& kind : kinds) {
      fmt::print("{}\n", analysis::describe(timeline, kind));
    }
  }
  fmt::print("{} races of {} kinds in {} operations{}\n", races.size(), kinds.size(),
             timeline.operations.size(), all ? "" : " (--all prints each)");
  return kRacesFound;
}

}  // namespace syncopate::experiments::cli
