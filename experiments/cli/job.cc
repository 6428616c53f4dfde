#include "experiments/cli/job.h"

#include <fmt/format.h>

#include <set>
#include <system_error>
#include <utility>

#include "experiments/run/available.h"
#include "experiments/run/run_folder.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments::cli {

namespace fs = std::filesystem;

namespace {

/// What tells two targets apart. Where the path cannot be followed, check_target() says why.
fs::path identity(const fs::path& target) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(target, error);
  return error ? fs::absolute(target).lexically_normal() : path;
}

}  // namespace

std::vector<Job> plan_jobs(const RunArguments& arguments) {
  if (arguments.out && arguments.out->empty()) {
    throw RunFolderError("--out is empty: name the folder to write to");
  }
  std::vector<Job> jobs;
  for (const std::string& file : arguments.configs) {
    Job job;
    job.config = load_config(file, {arguments.sets, arguments.runtime, arguments.trace});
    check_available(job.config);
    job.name = fmt::format("{}-{}", fs::path(file).stem().string(),
                           yaml::name_of(runtime_of(job.config.config).kind));
    if (!arguments.out) {
      // The folder tells post/async from hash/async.
      job.target = fs::path("runs") / fs::path(file).parent_path().filename() / job.name;
    } else {
      job.target = arguments.configs.size() == 1 ? fs::path(*arguments.out)
                                                 : fs::path(*arguments.out) / job.name;
    }
    jobs.push_back(std::move(job));
  }
  std::set<fs::path> targets;
  for (const Job& job : jobs) {
    if (!targets.insert(identity(job.target)).second) {
      throw RunFolderExistsError(
          fmt::format("{} and another configuration would both be written to {}: run them apart, "
                      "with --out",
                      job.config.file.string(), job.target.string()));
    }
    check_target(job.target, arguments.force);
  }
  return jobs;
}

void print_jobs(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto name = [](const fs::path& path) { return yaml::printable(path.string()); };
    fmt::print("{}# {}: would be written to {}\n", jobs.size() > 1 ? "---\n" : "",
               name(job.config.file), name(job.target));
    if (job.config.profile) fmt::print("# profile: {}\n", name(job.config.profile_file));
    fmt::print("{}", to_yaml_with_origins(job.config));
  }
}

}  // namespace syncopate::experiments::cli
