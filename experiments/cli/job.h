// What `run` is to do: its configurations, read and checked, and where each run goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/cli/commands.h"
#include "experiments/config/load.h"

namespace syncopate::experiments::cli {

/// One configuration to run.
struct Job {
  ResolvedConfig config;
  std::string name;  ///< <config>-<runtime>
  std::filesystem::path target;
};

/// All jobs, checked: each can run here, and has a folder of its own that it may be written to.
/// Throws ConfigError and RunFolderError. Writes nothing.
std::vector<Job> plan_jobs(const RunArguments& arguments);

/// Prints what would run, one YAML document a job, and where it would be written.
void print_jobs(const std::vector<Job>& jobs);

}  // namespace syncopate::experiments::cli
