#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/progress.h"
#include "experiments/cli/table.h"
#include "experiments/cli/terminal.h"
#include "experiments/config/sweep_points.h"
#include "experiments/run/available.h"
#include "experiments/run/revision.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/whole_file.h"
#include "experiments/sweep/result_table.h"
#include "experiments/sweep/sweep_folder.h"
#include "experiments/sweep/sweep_run.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostRows = 40;  // that are worth printing: a file has all of them

/// Of a finished sweep's columns, those that are worth a look.
constexpr std::string_view kHeadline[] = {
    "variant",     "tokens_per_s",          "step_mean_ms",  "device_active_pct",
    "ttft_p50_ms", "host_per_step_mean_us", "tokens_digest", "pass_median_ms",
    "pass_p90_ms", "speedup_over_ordinary", "exposed_ms"};

/// A sweep, read and checked, with the folder that it goes to.
struct PlannedSweep {
  SweepPlan plan;
  SweepFolder folder;
  Existing existing = Existing::kNone;
};

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  std::fflush(stdout);
  fmt::print(stderr, "syncopate: {}\n",
             yaml::printable(fmt::format(format, std::forward<Args>(args)...)));
}

std::string points_text(std::size_t count) {
  return fmt::format("{} point{}", count, count == 1 ? "" : "s");
}

/// <sweep>-<runtime>, or <sweep> where the runtime is varied.
std::string name_of_sweep(const SweepPlan& plan) {
  const auto kind = [](const SweepPoint& point) { return runtime_of(point.config.config).kind; };
  const RuntimeKind first = kind(plan.points.front());
  std::string name = plan.sweep.file.stem().string();
  const bool same =
      std::ranges::all_of(plan.points, [&](const auto& p) { return kind(p) == first; });
  return same ? fmt::format("{}-{}", name, yaml::name_of(first)) : name;
}

fs::path target_of(const SweepArguments& arguments, const SweepPlan& plan) {
  const std::string name = name_of_sweep(plan);
  if (!arguments.out) {
    return fs::path("runs") / fs::absolute(plan.sweep.file).parent_path().filename() / name;
  }
  return arguments.files.size() == 1 ? fs::path(*arguments.out) : fs::path(*arguments.out) / name;
}

Existing existing_for(const SweepArguments& arguments) {
  if (arguments.force) return Existing::kReplace;
  return arguments.resume || arguments.shard ? Existing::kContinue : Existing::kNone;
}

std::vector<PlannedSweep> plan_sweeps(const SweepArguments& arguments) {
  if (arguments.out && arguments.out->empty()) {
    throw RunFolderError("--out is empty: name the folder to write to");
  }
  std::vector<PlannedSweep> planned;
  std::set<fs::path> targets;
  for (const std::string& file : arguments.files) {
    SweepPlan plan = plan_sweep(file, {arguments.sets, arguments.runtime, false});
    for (SweepPoint& point : plan.points) {
      check_available(point.config);
      point.config.origins = {};  // places are for errors until here; a sweep may have many points
    }
    const fs::path target = target_of(arguments, plan);
    const Existing existing = existing_for(arguments);
    check_sweep_target(target, existing);
    if (!targets.insert(fs::weakly_canonical(target)).second) {
      throw RunFolderExistsError(fmt::format(
          "{} and another sweep would both be written to {}: run them apart, with --out", file,
          target.string()));
    }
    planned.push_back({std::move(plan), SweepFolder(target), existing});
  }
  return planned;
}

/// "2/8" as the second of eight.
Shard shard_of(const std::optional<std::string>& text) {
  if (!text) return {};
  const auto slash = text->find('/');
  const auto number = [&](std::string_view digits) -> std::size_t {
    const bool plain = !digits.empty() && digits.size() < 8 &&
                       digits.find_first_not_of("0123456789") == std::string_view::npos;
    return plain ? std::stoul(std::string(digits)) : 0;
  };
  const std::string_view view = *text;
  const std::size_t index = slash == std::string::npos ? 0 : number(view.substr(0, slash));
  const std::size_t count = slash == std::string::npos ? 0 : number(view.substr(slash + 1));
  if (index == 0 || index > count) {
    throw RefusedError(fmt::format("--shard {}: expected I/N, from 1/N to N/N", *text));
  }
  return {index - 1, count};
}

std::string cell_text(const nlohmann::ordered_json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_number_float()) return fmt::format("{:.6g}", cell.get<double>());
  return yaml::printable(cell.is_string() ? cell.get<std::string>() : cell.dump());
}

/// What was varied, and the figures that any row has.
std::string headline_table(const SweepPlan& plan, const std::vector<std::string>& columns,
                           const std::vector<ResultRow>& rows) {
  std::vector<std::size_t> shown;
  const auto show = [&](std::string_view name) {
    const auto at = static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    const auto has = [at](const ResultRow& row) { return !row[at].is_null(); };
    if (std::ranges::any_of(rows, has)) shown.push_back(at);
  };
  for (const std::string& key : plan.keys) show(key);
  if (plan.sweep.config.repeats.count > 1) show("repeat");
  for (const std::string_view name : kHeadline) show(name);
  show("error");
  std::vector<Column> head;
  for (const std::size_t at : shown) {
    const bool right = std::ranges::none_of(
        rows, [at](const ResultRow& row) { return row[at].is_string() || row[at].is_boolean(); });
    head.push_back({columns[at], right});
  }
  std::vector<std::vector<std::string>> cells;
  for (const ResultRow& row : rows) {
    auto& line = cells.emplace_back();
    for (const std::size_t at : shown) line.push_back(cell_text(row[at]));
  }
  return format_table(head, cells, output_takes_colour());
}

void print_dropped(const SweepPlan& plan) {
  std::map<std::string, std::size_t> reasons;
  for (const DroppedPoint& point : plan.dropped) ++reasons[point.because];
  const std::size_t combinations =
      plan.dropped.size() + plan.points.size() / plan.sweep.config.repeats.count;
  for (const auto& [because, count] : reasons) {
    fmt::print("dropped {} of {}: {}\n", count, points_text(combinations),
               yaml::printable(because));
  }
}

void print_plan(const PlannedSweep& planned, const Shard& shard) {
  const SweepPlan& plan = planned.plan;
  fmt::print("# {}: {}, would be written to {}\n", plan.sweep.file.string(),
             points_text(plan.points.size()), planned.folder.path().string());
  std::vector<Column> head{{"point"}, {"state", false}};
  for (const std::string& key : plan.keys) head.push_back({key, false});
  if (plan.sweep.config.repeats.count > 1) head.push_back({"repeat"});
  head.push_back({"folder", false});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const SweepPoint& point = plan.points[i];
    const bool keeps = planned.existing == Existing::kContinue;
    const char* state = keeps && planned.folder.finished(point) ? "finished"
                        : shard.has(i)                          ? "to run"
                                                                : "other shard";
    auto& row = rows.emplace_back();
    row = {fmt::format("{}", i), state};
    for (const yaml::Node& value : point.values) row.push_back(cell_text(to_json(value)));
    if (plan.sweep.config.repeats.count > 1) row.push_back(fmt::format("{}", point.repeat));
    row.push_back("points/" + point.name);
  }
  fmt::print("{}", format_table(head, rows, output_takes_colour()));
  for (const DroppedPoint& point : plan.dropped) {
    fmt::print("dropped {}: {}\n", yaml::printable(describe_point(plan.keys, point.values)),
               yaml::printable(point.because));
  }
}

std::string progress_text(const SweepProgress& progress, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(progress.done) / seconds : 0;
  const double left = rate > 0 ? static_cast<double>(progress.of - progress.done) / rate : 0;
  return fmt::format("{} of {} points, {:.3g} points/s, {:.0f} s left", progress.done, progress.of,
                     rate, left);
}

SweepOutcome run_points(const PlannedSweep& planned, const SweepOptions& options) {
  const SweepPlan& plan = planned.plan;
  ProgressLine line(plan.sweep.file.stem().string());
  const auto start = std::chrono::steady_clock::now();
  const SweepCallbacks callbacks{
      [&](const SweepProgress& progress) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        line.update(progress_text(progress, spent.count()));
      },
      [&](std::size_t number, const std::string& message) {
        tell("{}: point {} ({}): {}", plan.sweep.file.string(), number,
             describe_point(plan.keys, plan.points[number].values), message);
      }};
  return run_sweep(plan, planned.folder, options, callbacks);
}

void print_counts(const PlannedSweep& planned, const SweepOutcome& outcome) {
  const std::size_t now = outcome.ran + outcome.failed;
  if (now > 0) {
    fmt::print("{} in {:.2f} s: {:.3g} points/s\n", points_text(now), outcome.seconds,
               static_cast<double>(now) / outcome.seconds);
  }
  if (outcome.kept > 0) fmt::print("{} had been finished before\n", points_text(outcome.kept));
  if (outcome.outside_profile > 0) {
    tell("{}: warning: {} of these have steps larger than any that their profile was measured with",
         planned.plan.sweep.file.string(), points_text(outcome.outside_profile));
  }
}

/// The exit status.
int run_planned(const PlannedSweep& planned, const SweepOptions& options,
                const std::string& command_line) {
  const SweepPlan& plan = planned.plan;
  const std::string file = plan.sweep.file.string();
  print_dropped(plan);
  const std::string before = planned.folder.revision_of_manifest();
  planned.folder.prepare(plan, command_line, planned.existing);
  if (planned.existing == Existing::kContinue && !before.empty() && before != revision()) {
    tell("{}: warning: what is finished may be of source {}; this program is of {}", file, before,
         revision());
  }
  const SweepOutcome outcome = run_points(planned, options);
  print_counts(planned, outcome);
  if (!outcome.disk_full.empty()) {
    tell("{}: {}; {} left: make room, then go on with --resume", file, outcome.disk_full,
         points_text(outcome.left));
    return kRunFailed;
  }
  const ResultTable table(plan);
  const fs::path& folder = planned.folder.path();
  if (outcome.left > 0) {
    fmt::print("{} of other shards are not finished: the last shard, or --resume, writes {}\n",
               points_text(outcome.left), (folder / kResultsCsv).string());
    return outcome.failed > 0 ? kRunFailed : kOk;
  }
  write_whole_file(folder / kResultsCsv, results_csv(table.columns(), outcome.rows), true);
  write_whole_file(folder / kResultsJson, results_json(table.columns(), outcome.rows), true);
  fmt::print("wrote {}\n", (folder / kResultsCsv).string());
  if (outcome.rows.size() <= kMostRows) {
    fmt::print("\n{}", headline_table(plan, table.columns(), outcome.rows));
  }
  return outcome.failed > 0 ? kRunFailed : kOk;
}

}  // namespace

int sweep(const SweepArguments& arguments) {
  const SweepOptions options{arguments.jobs, shard_of(arguments.shard)};
  const std::vector<PlannedSweep> all = plan_sweeps(arguments);
  int status = kOk;
  for (const PlannedSweep& planned : all) {
    if (arguments.dry_run) {
      print_plan(planned, options.shard);
      continue;
    }
    try {
      status = std::max(status, run_planned(planned, options, arguments.command_line));
    } catch (const runtime::Error& error) {  // such as: the table cannot be written
      tell("{}: {}", planned.plan.sweep.file.string(), error.what());
      status = kRunFailed;
    }
  }
  return status;
}

}  // namespace syncopate::experiments::cli
