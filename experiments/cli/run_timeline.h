// A finished run's timeline.
#pragma once

#include <filesystem>
#include <string>

#include "backend/runtime/timeline.h"

namespace syncopate::experiments::cli {

struct RunTimeline {
  std::filesystem::path file;  ///< For messages about what is in it.
  runtime::Timeline timeline;
};

/// Throws NoRunError where `folder` is no run or has no timeline, and analysis::FileError.
RunTimeline read_run_timeline(const std::string& folder);

}  // namespace syncopate::experiments::cli
