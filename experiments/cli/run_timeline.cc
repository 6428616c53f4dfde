#include "experiments/cli/run_timeline.h"

#include <system_error>

#include "analysis/timeline_io.h"
#include "experiments/cli/commands.h"

namespace syncopate::experiments::cli {

RunTimeline read_run_timeline(const std::string& folder) {
  const std::filesystem::path file = std::filesystem::path(folder) / "timeline.json";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw NoRunError(folder + ": no such run");
  }
  if (!std::filesystem::is_regular_file(file, error)) {
    throw NoRunError(folder + " has no timeline.json: run it with output.log on");
  }
  return {file, analysis::read_timeline(file)};
}

}  // namespace syncopate::experiments::cli
