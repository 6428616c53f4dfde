#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/error.h"
#include "analysis/races.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/run_timeline.h"

namespace syncopate::experiments::cli {

namespace {

/// What contradicts itself came out of the file: the message has to say which.
std::vector<analysis::Race> races_of(const RunTimeline& run) {
  try {
    return analysis::find_races(run.timeline);
  } catch (const runtime::Error& error) {
    throw analysis::FileError(fmt::format("{}: {}", run.file.string(), error.what()));
  }
}

}  // namespace

int check_run(const std::string& folder, bool all) {
  const RunTimeline run = read_run_timeline(folder);
  const runtime::Timeline& timeline = run.timeline;
  const std::vector<analysis::Race> races = races_of(run);
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
