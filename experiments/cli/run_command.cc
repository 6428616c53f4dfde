#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/terminal_timeline.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/progress.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"
#include "experiments/config/load.h"
#include "experiments/run/available.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "experiments/run/run_folder.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments::cli {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

struct Job {
  ResolvedConfig config;
  std::string name;  ///< <config>-<runtime>
  fs::path target;
};

/// What tells two targets apart. Where the path cannot be followed, check_target() says why.
fs::path identity(const fs::path& target) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(target, error);
  return error ? fs::absolute(target).lexically_normal() : path;
}

std::vector<Job> plan(const RunArguments& arguments) {
  if (arguments.out && arguments.out->empty()) {
    throw RunFolderError("--out is empty: name the folder to write to");
  }
  std::vector<Job> jobs;
  for (const std::string& file : arguments.configs) {
    Job job;
    job.config = load_config(file, {arguments.sets, arguments.runtime, arguments.trace});
    check_available(job.config);
    job.name = fmt::format("{}-{}", fs::path(file).stem().string(),
                           yaml::name_of(job.config.config.runtime.kind));
    if (!arguments.out) {
      // The folder tells post/async from hash/async.
      job.target = fs::path("runs") / fs::path(file).parent_path().filename() / job.name;
    } else {
      job.target = arguments.configs.size() == 1 ? fs::path(*arguments.out)
                                                 : fs::path(*arguments.out) / job.name;
    }
    jobs.push_back(std::move(job));
  }
  std::map<fs::path, std::string_view> targets;
  for (const Job& job : jobs) {
    const std::string file = job.config.file.string();
    const auto [other, added] = targets.emplace(identity(job.target), job.name);
    if (!added) {
      throw RunFolderExistsError(
          fmt::format("{} and another configuration would both be written "
                      "to {}: run them apart, with --out",
                      file, job.target.string()));
    }
    check_target(job.target, arguments.force);
  }
  return jobs;
}

/// Requests that could never be served, with their place where each is written out.
void report_refusals(const Job& job, const RunResult& result) {
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const std::string& why = result.requests[i].error;
    if (why.empty()) continue;
    const std::string path = fmt::format("requests[{}]", i);
    fmt::print(stderr, "syncopate: {}: {}: refused: it {}\n", job.config.origins.find(path).text(),
               path, why);
  }
}

/// Once a run: the first step for which the profile's terms are a guess.
void warn_outside_ranges(const Job& job, const RunResult& result) {
  if (!job.config.profile || !job.config.profile->ranges) return;
  const ProfileRanges& ranges = *job.config.profile->ranges;
  std::size_t outside = 0;
  std::string first;
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const batching::StepRecord& step = result.steps[i];
    if (step.rows <= ranges.rows && step.tokens <= ranges.tokens &&
        step.kv_tokens <= ranges.kv_tokens) {
      continue;
    }
    if (outside++ == 0) {
      first = fmt::format("step {}, with {} rows, {} tokens and {} KV tokens", i, step.rows,
                          step.tokens, step.kv_tokens);
    }
  }
  if (outside == 0) return;
  std::fflush(stdout);
  fmt::print(stderr,
             "syncopate: {}: warning: {} of {} steps are larger than any that profile {} was "
             "measured with; the first is {}\n",
             job.config.file.string(), outside, result.steps.size(),
             job.config.profile->profile.name, first);
}

/// What the command says of a run.
struct Outcome {
  Json figures;
  std::string timeline;  ///< With --timeline.
};

/// A few steps from the middle of the run, under its name.
std::string timeline_text(const Job& job, const runtime::Timeline& timeline) {
  constexpr std::size_t kSteps = 3;
  const auto steps = analysis::middle_steps(timeline, kSteps);
  if (!steps) return fmt::format("{}: no timeline: no step has known times\n", job.name);
  const auto lines =
      analysis::draw_timeline(timeline, *steps, {output_width(), output_takes_colour()});
  return fmt::format("{}\n{}\n", job.name, fmt::join(lines, "\n"));
}

Outcome run_job(const Job& job, const RunArguments& arguments) {
  RunResult result;
  {
    ProgressLine line(job.name);
    result = run_config(job.config, [&](const Progress& progress) { line.update(progress); });
  }
  report_refusals(job, result);
  warn_outside_ranges(job, result);
  Outcome outcome{metrics(result), ""};
  if (arguments.timeline) outcome.timeline = timeline_text(job, result.timeline);
  RunFolder folder(job.target, arguments.force);
  write_run(folder, job.config, result, outcome.figures);
  folder.commit();
  return outcome;
}

/// One YAML document a job.
void print_plan(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto name = [](const fs::path& path) { return yaml::printable(path.string()); };
    fmt::print("{}# {}: would be written to {}\n", jobs.size() > 1 ? "---\n" : "",
               name(job.config.file), name(job.target));
    if (job.config.profile) fmt::print("# profile: {}\n", name(job.config.profile_file));
    fmt::print("{}", to_yaml_with_origins(job.config));
  }
}

void report_failure(const Job& job, const char* message) {
  std::fflush(stdout);
  fmt::print(stderr, "syncopate: {}: {}\n", job.config.file.string(), message);
}

/// A number with `digits` after the point, or "-" where there is none.
std::string number(const Json& value, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

/// The mean of a distribution, which is null when it has no values.
std::string mean(const Json& distribution, int digits) {
  return distribution.is_object() ? number(distribution["mean"], digits) : "-";
}

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::string strategy(const StrategyConfig& c) {
  std::string out(yaml::name_of(c.kind));
  if (c.kind == StrategyKind::kAsync) out += fmt::format(", {} slots", c.slots.value());
  return c.graphs ? out + ", graphs" : out;
}

std::vector<std::string> row(const Job& job, const Json& figures) {
  const Config& c = job.config.config;
  return {job.config.file.stem().string(),
          std::string(yaml::name_of(c.runtime.kind)),
          strategy(c.strategy),
          text(figures["steps"]),
          number(figures["total_time_s"], 3),
          mean(figures["step_time_ms"], 3),
          number(figures["tokens_per_s"], 0),
          number(figures["device_active_pct"], 1),
          mean(figures["host_us_per_step"], 1),
          text(figures["tokens_digest"]),
          text(figures["races"])};
}

std::vector<Column> columns() {
  return {{"config", false}, {"runtime", false}, {"strategy", false}, {"steps"},        {"time s"},
          {"step ms"},       {"tokens/s"},       {"device active %"}, {"host us/step"}, {"digest"},
          {"races"}};
}

}  // namespace

int run_configs(const RunArguments& arguments) {
  const std::vector<Job> jobs = plan(arguments);
  if (arguments.dry_run) {
    print_plan(jobs);
    return kOk;
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> timelines;
  int status = kOk;
  for (const Job& job : jobs) {
    try {
      Outcome outcome = run_job(job, arguments);
      rows.push_back(row(job, outcome.figures));
      if (arguments.timeline) timelines.push_back(std::move(outcome.timeline));
      fmt::print("wrote {}\n", job.target.string());
    } catch (const std::bad_alloc&) {
      report_failure(job, "out of memory");
      status = kRunFailed;
    } catch (const std::exception& error) {
      report_failure(job, error.what());
      status = kRunFailed;
    }
  }
  if (!rows.empty()) {
    fmt::print("\n{}", format_table(columns(), rows, output_takes_colour()));
  }
  for (const std::string& timeline : timelines) fmt::print("\n{}", timeline);
  return status;
}

}  // namespace syncopate::experiments::cli
