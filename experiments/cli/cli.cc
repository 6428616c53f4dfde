#include "experiments/cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/commands.h"
#include "experiments/run/run_folder.h"
#include "experiments/sweep/comparison.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"

namespace syncopate::experiments::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  syncopate run configs/post/sync.yaml configs/post/async.yaml
      the post's two runs in virtual time, and a table of both
  syncopate run configs/demo/async_cpu.yaml
      a small transformer on CPU threads
  syncopate run configs/demo/async_cpu.yaml --set strategy.slots=3 --out runs/three_slots
  syncopate run configs/hash/async.yaml --runtime cuda
      on a GPU, in a build with CUDA
  syncopate run configs/hash/async.yaml --timeline
      and three of its steps, stream by stream, as wide as the terminal
  syncopate run configs/ulysses/w2.yaml
      sequence-parallel attention on two GPUs in virtual time, in bands of heads that overlap or not
  syncopate sweep configs/sweeps/batch_size.yaml
      batch sizes and strategies in virtual time, and a table of all of them
  syncopate compare runs/post/sync-sim runs/post/async-sim
      how their figures differ
  syncopate check runs/demo/async_cpu-cpu
      the races of a finished run
  syncopate critical-path runs/demo/async_cpu-cpu
      what that run's time went to
  syncopate calibrate --runtime cpu --out mine.yaml
  syncopate run configs/demo/async_sim.yaml --set runtime.profile=$PWD/mine.yaml
      the demo in virtual time, with this machine's own figures
  syncopate what-if configs/post/sync.yaml
      what a faster host or free copies would give that run
  syncopate predict --host-ms 2.41 --device-ms 7.63
      what asynchronous batching would give an engine of which only that is known
  syncopate list
      what can stand in a configuration (docs/config.md says all of it)
  syncopate schema > syncopate.schema.json
      for an editor that knows JSON Schema

Exit status: 0 done; 1 check found races; 2 wrong command line or configuration, nothing written;
3 a run failed: what there is of it is in a folder whose name ends in .incomplete.)";

constexpr const char* kRunExamples =
    R"(Examples:
  syncopate run configs/hash/ordered.yaml configs/hash/async.yaml --out runs/hash
      two runs, in runs/hash/ordered-sim and runs/hash/async-sim
  syncopate run configs/hash/async.yaml --set limits.rows=8 --set host.extra_us=100 --dry-run
      every value, and whether the file, --set or a default gave it; nothing runs
  syncopate run configs/hash/async.yaml --runtime cpu --force
      measured on threads, in place of the run that is there

A run's folder holds config.yaml (which runs the same again), environment.json, metrics.json,
timeline.json unless output.log is off, steps.csv and requests.csv (of ulysses samples.csv), tokens.json
with output.tokens, and trace.json.gz with output.trace or --trace: open it in https://ui.perfetto.dev,
or with tools for traces of PyTorch. output.window limits it to some steps, as in --set output.window=[100,120]; on cuda,
output.kernels adds each kernel and CUDA call. A timeline is as wide as the terminal, or as COLUMNS
says; NO_COLOR takes its colours away.)";

constexpr const char* kSweepExamples =
    R"(Examples:
  syncopate sweep configs/sweeps/batch_size.yaml
      every point in virtual time, on all cores; the table is runs/sweeps/batch_size-sim/results.csv
  syncopate sweep configs/sweeps/batch_size.yaml --dry-run
      the points, and those that a constraint drops; nothing runs
  syncopate sweep configs/sweeps/batch_size.yaml --runtime cpu --resume
      measured on threads, one point at a time; what an earlier call finished is not run again
  syncopate sweep configs/sweeps/batch_size.yaml --shard $SLURM_ARRAY_TASK_ID/8 --out SHARED/batch
      in a Slurm job with --array=1-8; the last shard to finish writes the table

A sweep's folder holds manifest.json (the points, and what ran them), results.csv and results.json,
and in points/ a folder of each finished point, as run leaves it. Logs and tables of steps are
written where the sweep or --set asks for them, as in --set output.tables=on.
docs/config.md says what stands in a sweep's file.

Exit status: 0 done; 2 wrong command line or sweep, nothing written; 3 a point failed, and has its
error as its row, or there was no room.)";

constexpr const char* kCompareExamples =
    R"(Examples:
  syncopate compare runs/post/sync-sim runs/post/async-sim
      two runs: what they were told, and their figures
  syncopate compare runs/sweeps/batch_size-sim runs/sweeps/batch_size-cpu
      two sweeps, point by point: by default by all that is varied in them
  syncopate compare A B --by strategy.kind --figure step_mean_ms --figure ttft_p99_ms
      all rows of one strategy taken together
  syncopate compare A B --format markdown

Rows that agree in the keys are repeats: A and B are their means, and the interval holds 95 % of the
ratios of 2,000 resamplings of both (a bootstrap, whose seed is fixed). Beyond noise: it does not
hold 1. Figures are columns of results.csv. Standard error says what only one of the two has.)";

constexpr const char* kCheckExamples = R"(Examples:
  syncopate check runs/hash/unordered-sim
      each kind of race once: its buffer, and the order that is missing
  syncopate check runs/hash/unordered-sim --all
      every pair of accesses

Exit status: 0 no race, 1 races.)";

constexpr const char* kPathExamples = R"(Examples:
  syncopate critical-path runs/hash/ordered-sim
      what the run's time went to: its longest chain of work and waits, all of its time

Rows: device (a kernel, graph or copy ran), host span (declared work), call (it enqueued, or found
nothing to wait for), host (between those), launch (from a call's return to its operation's start), gap
(from what a stream waited for to the operation's start) and wake (from what a host blocked on to its
going on). What is not on the path held nothing up. With something made faster, another chain may take
its place.)";

constexpr const char* kListExamples = R"(Examples:
  syncopate list
      each name that can stand in a configuration, and whether this build and machine have it)";

constexpr const char* kSchemaExamples = R"(Examples:
  syncopate schema > syncopate.schema.json
      then, as a configuration's first line, for editors with the YAML language server:
      # yaml-language-server: $schema=./syncopate.schema.json
  syncopate schema --profile > profile.schema.json
      the same for hardware profiles; --sweep for sweeps
  syncopate schema --markdown
      docs/config.md)";

constexpr const char* kWhatIfExamples = R"(Examples:
  syncopate what-if configs/post/sync.yaml
      the run again in virtual time, each time with one thing changed
  syncopate what-if configs/hash/async.yaml --set runtime.profile=$PWD/mine.yaml
      on a machine that `calibrate` measured)";

constexpr const char* kPredictNotes =
    R"(Examples:
  syncopate predict --host-ms 2.41 --device-ms 7.63 --batch 32
      an engine whose host works 2.41 ms between steps of 7.63 ms
  syncopate predict --host-ms 2.41 --device-ms 7.63 --launch-ms 1.8 --jitter 0.5
      1.8 ms of that launch kernels; both halves vary by half

In virtual time, of 4,096 steps. Both times are those of an engine that takes turns: a profiler's
trace has them as the busy and the idle time of the GPU between the starts of two steps. Copies are
left out: where they take long, two slots may not be enough (docs/lessons/04-two-slots.md).)";

constexpr const char* kCalibrateNotes =
    R"(Takes up to a minute, and needs the machine for itself: what else runs on it is measured with
it. The file says what was measured, how well the fitted terms give it back, and for which steps
they hold.)";

/// What is wrong with the first argument if it is to be a command and is none; CLI11 itself would
/// only say that a command is missing.
std::string unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string word = argv[1];
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, word) != names.end()) return "";
  const auto near = yaml::nearest(word, names);
  return fmt::format("unknown command '{}'{} Commands: {}", word,
                     near ? fmt::format("; did you mean '{}'?", *near) : ".",
                     fmt::join(names, ", "));
}

int dispatch(CLI::App& app, int argc, const char* const* argv) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "syncopate " SYNCOPATE_VERSION);

  RunArguments arguments;
  CLI::App* run = app.add_subcommand("run", "Run configurations; each leaves a folder");
  run->add_option("CONFIG", arguments.configs, "Configuration files")->required();
  run->add_option("--runtime", arguments.runtime, "sim, cpu or cuda, in place of the file's");
  run->add_option("--set", arguments.sets, "Set a value, as in strategy.slots=2; repeat for more")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  run->add_option("--out", arguments.out,
                  "Folder of the run, or of the runs if there are several "
                  "(default: runs/<its folder>/<config>-<runtime>)");
  run->add_flag("--force", arguments.force,
                "Replace a run that is there, once the new one is done");
  run->add_flag("--timeline", arguments.timeline,
                "After the table, draw three steps from the middle of each run, stream by stream");
  run->add_flag("--dry-run", arguments.dry_run,
                "Check everything, print each value with where it comes from, and write nothing");
  run->add_flag("--trace", arguments.trace,
                "Write a trace for Perfetto: sets output.trace, and output.log which it needs");
  run->footer(kRunExamples);

  SweepArguments sweeping;
  CLI::App* sweep_command =
      app.add_subcommand("sweep", "Run a configuration with many values, into one table");
  sweep_command->add_option("SWEEP", sweeping.files, "Files of sweeps")->required();
  sweep_command->add_option("--runtime", sweeping.runtime,
                            "sim, cpu or cuda, in place of the base's");
  sweep_command->add_option("--set", sweeping.sets, "As for run, in every point")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  sweep_command->add_option("--out", sweeping.out,
                            "Folder of the sweep, or of the sweeps if there are several "
                            "(default: runs/<its folder>/<sweep>-<runtime>)");
  sweep_command
      ->add_option("--jobs", sweeping.jobs,
                   "Points at a time (default: of virtual time one a core, else one)")
      ->check(CLI::Range(1U, 4096U));
  CLI::Option* resume =
      sweep_command->add_flag("--resume", sweeping.resume, "Keep the points that are finished");
  CLI::Option* replace =
      sweep_command->add_flag("--force", sweeping.force, "Remove a sweep that is there first");
  CLI::Option* shard = sweep_command->add_option(
      "--shard", sweeping.shard, "Only every N-th point, from the I-th on; keeps those finished");
  shard->type_name("I/N");
  replace->excludes(resume)->excludes(shard);
  sweep_command->add_flag("--dry-run", sweeping.dry_run,
                          "Check everything, print the points, and write nothing");
  sweep_command->footer(kSweepExamples);

  CompareArguments comparing;
  CLI::App* compare_command =
      app.add_subcommand("compare", "Print the differences between two runs or sweeps");
  compare_command->add_option("A", comparing.a, "A run's folder, or a sweep's")->required();
  compare_command->add_option("B", comparing.b, "Another")->required();
  compare_command
      ->add_option("--by", comparing.by,
                   "Compare rows that agree in this column; repeat for more (default: in all that "
                   "is varied)")
      ->type_name("KEY")
      ->allow_extra_args(false);
  compare_command->add_option("--figure", comparing.figures, "A column to compare; repeat for more")
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  compare_command->add_option("--format", comparing.format, "table, markdown or csv")
      ->check(CLI::IsMember({"table", "markdown", "csv"}));
  compare_command->footer(kCompareExamples);

  std::string folder;
  CLI::App* check = app.add_subcommand("check", "Find the races of a finished run");
  check->add_option("RUN", folder, "A run's folder")->required();
  bool all = false;
  check->add_flag("--all", all, "Print every pair of accesses, not each kind of race once");
  check->footer(kCheckExamples);

  CLI::App* path = app.add_subcommand("critical-path", "What a finished run's time went to");
  path->add_option("RUN", folder, "A run's folder")->required();
  path->footer(kPathExamples);

  CalibrateArguments calibration;
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "Measure this machine; writes a hardware profile for sim");
  calibrate->add_option("CONFIG", calibration.config,
                        "Whose model and limits to measure with (default: the demo's)");
  calibrate->add_option("--runtime", calibration.runtime, "What to measure: cpu")->required();
  calibrate->add_option("--set", calibration.sets, "As for run")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  calibrate->add_option("--out", calibration.out, "The profile's file")->required();
  calibrate->add_flag("--force", calibration.force, "Replace the file if it is there");
  calibrate->footer(kCalibrateNotes);
  std::string command_line = "syncopate";
  for (int i = 1; i < argc; ++i) command_line += fmt::format(" {}", argv[i]);
  calibration.command_line = command_line;
  sweeping.command_line = command_line;

  WhatIfArguments question;
  CLI::App* what_if_command =
      app.add_subcommand("what-if", "What a faster host, free copies or another slot would give");
  what_if_command
      ->add_option("CONFIG", question.config, "Of the batching program, with runtime sim")
      ->required();
  what_if_command->add_option("--set", question.sets, "KEY=VALUE in place of the configuration's")
      ->allow_extra_args(false);
  what_if_command->footer(kWhatIfExamples);

  PredictArguments prediction;
  CLI::App* predict = app.add_subcommand(
      "predict", "What asynchronous batching would give an engine, from two times of a step");
  predict->add_option("--host-ms", prediction.halves.host_ms, "The host's work of a step")
      ->required();
  predict->add_option("--device-ms", prediction.halves.device_ms, "The device's")->required();
  predict->add_option("--launch-ms", prediction.halves.launch_ms,
                      "Of the host's work, what launching one graph would save");
  predict->add_option("--batch", prediction.batch, "Tokens of a step, for tokens/s")
      ->check(CLI::Range(1, 1 << 20));
  predict->add_option("--jitter", prediction.halves.jitter,
                      "Both vary evenly by this share of their time; 0.5: half");
  predict->footer(kPredictNotes);

  CLI::App* list_command =
      app.add_subcommand("list", "Programs, runtimes, strategies, models and hardware profiles");
  list_command->footer(kListExamples);

  bool of_profile = false;
  bool of_sweep = false;
  bool as_markdown = false;
  CLI::App* schema =
      app.add_subcommand("schema", "The JSON Schema of a configuration, for editors and checkers");
  CLI::Option* profile_flag =
      schema->add_flag("--profile", of_profile, "Of a hardware profile instead");
  CLI::Option* sweep_flag = schema->add_flag("--sweep", of_sweep, "Of a sweep instead");
  sweep_flag->excludes(profile_flag);
  schema->add_flag("--markdown", as_markdown, "A page that documents every key of all three")
      ->excludes(profile_flag)
      ->excludes(sweep_flag);
  schema->footer(kSchemaExamples);
  app.footer(kExamples);  // last: a command would take it over as its own

  if (argc == 1) {
    std::cerr << app.help();
    return kUsageError;
  }
  if (const std::string error = unknown_command(app, argc, argv); !error.empty()) {
    std::cerr << "syncopate: " << error << '\n';
    return kUsageError;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "syncopate: " << error.what() << " (see syncopate --help)\n";
    return kUsageError;
  }
  if (*run) return run_configs(arguments);
  if (*sweep_command) return sweep(sweeping);
  if (*compare_command) return compare_results(comparing);
  if (*check) return check_run(folder, all);
  if (*path) return print_critical_path(folder);
  if (*calibrate) return calibrate_machine(calibration);
  if (*what_if_command) return print_what_if(question);
  if (*predict) return predict_step(prediction);
  if (*list_command) return list();
  if (*schema && as_markdown) return print_reference();
  if (*schema) {
    return print_schema(of_profile ? SchemaOf::kProfile
                        : of_sweep ? SchemaOf::kSweep
                                   : SchemaOf::kConfig);
  }
  return kUsageError;
}

}  // namespace

int run(int argc, const char* const* argv) {
  const auto report = [](const char* message, int status) {
    std::cout.flush();
    std::cerr << "syncopate: " << message << '\n';
    return status;
  };
  try {
    CLI::App app{
        "How CPU and GPU work overlap in LLM serving: one program in virtual time, on CPU "
        "threads, and on CUDA GPUs.",
        "syncopate"};
    const int status = dispatch(app, argc, argv);
    if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    return report("cannot write to standard output", kRunFailed);
  } catch (const yaml::ConfigError& error) {
    return report(error.what(), kUsageError);
  } catch (const RunFolderError& error) {  // before any run: no run can be put there
    return report(error.what(), kUsageError);
  } catch (const NoRunError& error) {
    return report(error.what(), kUsageError);
  } catch (const ComparisonError& error) {
    return report(error.what(), kUsageError);
  } catch (const RefusedError& error) {
    return report(error.what(), kUsageError);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}

}  // namespace syncopate::experiments::cli
