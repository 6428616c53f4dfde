#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/terminal_timeline.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/job.h"
#include "experiments/cli/progress.h"
#include "experiments/cli/run_table.h"
#include "experiments/cli/terminal.h"
#include "experiments/run/profile_ranges.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "experiments/run/run_folder.h"

namespace syncopate::experiments::cli {
namespace {

using Json = nlohmann::ordered_json;

/// To standard error, behind what was printed before.
template <class... Args>
void complain(fmt::format_string<Args...> format, Args&&... args) {
  std::fflush(stdout);
  fmt::print(stderr, "syncopate: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

/// Requests that could never be served, with their place where each is written out.
void report_refusals(const Job& job, const BatchingResult& result) {
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const std::string& why = result.requests[i].error;
    if (why.empty()) continue;
    const std::string path = fmt::format("requests[{}]", i);
    complain("{}: {}: refused: it {}", job.config.origins.find(path).text(), path, why);
  }
}

/// Once a run: the first step for which the profile's terms are a guess.
void warn_outside_ranges(const Job& job, const BatchingResult& result) {
  const auto outside = steps_outside_profile(job.config, result);
  if (!outside) return;
  const batching::StepRecord& first = result.steps[outside->first];
  complain(
      "{}: warning: {} of {} steps are larger than any that profile {} was measured with; the "
      "first is step {}, with {} rows, {} tokens and {} KV tokens",
      job.config.file.string(), outside->count, result.steps.size(),
      job.config.profile->profile.name, outside->first, first.rows, first.tokens, first.kv_tokens);
}

/// Records of kernels for which there was no room.
void warn_dropped(const Job& job, const RunResult& result) {
  const auto& activities = result.timeline.activities;
  if (!activities || activities->dropped == 0) return;
  complain(
      "{}: warning: the trace lacks {} records of kernels and calls, for which there was no room; "
      "narrow output.window",
      job.config.file.string(), activities->dropped);
}

/// Puts what there is of an interrupted run where nobody takes it for a whole one.
void keep_incomplete(const Job& job, const RunResult& so_far) {
  try {
    const auto folder = write_incomplete_run(job.target, job.config, so_far);
    complain("{}: what there is of the run, {} finished steps, is in {}", job.config.file.string(),
             so_far.steps(), folder.string());
  } catch (const std::exception& error) {
    complain("{}: what there is of the run is lost: {}", job.config.file.string(), error.what());
  }
}

/// What variants that are auto came to, and why.
void report_found(const Job& job, const UlyssesResult& result) {
  for (const VariantFacts& variant : result.variants) {
    if (!variant.found) continue;
    fmt::print("{}: {}: {}\n", job.name, *variant.config.name, explain(*variant.found));
  }
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
  if (!result.warning.empty()) {
    complain("{}: warning: {}", job.config.file.string(), result.warning);
  }
  if (const auto* batching = std::get_if<BatchingResult>(&result.program)) {
    report_refusals(job, *batching);
    warn_outside_ranges(job, *batching);
  }
  if (const auto* ulysses = std::get_if<UlyssesResult>(&result.program)) {
    report_found(job, *ulysses);
  }
  warn_dropped(job, result);
  Outcome outcome{metrics(result), ""};
  if (arguments.timeline) outcome.timeline = timeline_text(job, result.timeline);
  RunFolder folder(job.target, arguments.force);
  write_run(folder, job.config, result, outcome.figures);
  folder.commit();
  return outcome;
}

}  // namespace

int run_configs(const RunArguments& arguments) {
  const std::vector<Job> jobs = plan_jobs(arguments);
  if (arguments.dry_run) {
    print_jobs(jobs);
    return kOk;
  }
  RunTables tables;
  std::vector<std::string> timelines;
  int status = kOk;
  for (const Job& job : jobs) {
    try {
      Outcome outcome = run_job(job, arguments);
      tables.add(job.config, outcome.figures);
      if (arguments.timeline) timelines.push_back(std::move(outcome.timeline));
      fmt::print("wrote {}\n", job.target.string());
    } catch (const InterruptedRun& error) {
      complain("{}: {}", job.config.file.string(), error.what());
      keep_incomplete(job, error.so_far());
      status = kRunFailed;
    } catch (const std::bad_alloc&) {
      complain("{}: out of memory", job.config.file.string());
      status = kRunFailed;
    } catch (const std::exception& error) {
      complain("{}: {}", job.config.file.string(), error.what());
      status = kRunFailed;
    }
  }
  fmt::print("{}", tables.text(output_takes_colour()));
  for (const std::string& timeline : timelines) fmt::print("\n{}", timeline);
  return status;
}

}  // namespace syncopate::experiments::cli
