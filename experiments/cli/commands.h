// The commands behind the command line: each returns an exit status and throws runtime::Error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "experiments/predict/predict.h"

namespace syncopate::experiments::cli {

/// What `check` was given is no run that it can look at.
class NoRunError : public runtime::Error {
  using Error::Error;
};

/// A command was asked for what it does not do; nothing was written.
class RefusedError : public runtime::Error {
  using Error::Error;
};

struct RunArguments {
  std::vector<std::string> configs;
  std::optional<std::string> runtime;
  std::vector<std::string> sets;
  std::optional<std::string> out;  ///< None: runs/<folder>/<config>-<runtime>.
  bool force = false;
  bool timeline = false;  ///< Print a few steps of each run, row by row.
  bool dry_run = false;   ///< Print what would run, and where it would be written.
  bool trace = false;     ///< Sets output.trace, and output.log.
};

/// All configurations are read and checked, also for what this build and machine have, and all
/// targets looked at, before the first one runs.
int run_configs(const RunArguments& arguments);
/// Prints the races of a run that was logged: each kind once, with how often it happened, or with
/// `all` each pair on a line of its own. Throws NoRunError.
int check_run(const std::string& folder, bool all);
/// Prints the critical path of a run that was logged: its time by what it went to. Throws
/// NoRunError.
int print_critical_path(const std::string& folder);
/// Prints each name that can stand in a configuration, and whether it can be had here.
int list();
enum class SchemaOf { kConfig, kProfile, kSweep };

/// Prints the JSON Schema of a kind of file.
int print_schema(SchemaOf of);
/// Prints the page that documents every key of all kinds.
int print_reference();

struct SweepArguments {
  std::vector<std::string> files;
  std::optional<std::string> runtime;
  std::vector<std::string> sets;
  std::optional<std::string> out;    ///< None: runs/<folder>/<sweep>-<runtime>.
  unsigned jobs = 0;                 ///< 0: as many as there are cores, of measured points one.
  std::optional<std::string> shard;  ///< "I/N".
  bool resume = false;
  bool force = false;
  bool dry_run = false;
  std::string command_line;  ///< As it was given, for the manifest.
};

/// All sweeps are read and checked, and their targets looked at, before the first point runs. A
/// point that fails is a row of the table, and the status says so.
int sweep(const SweepArguments& arguments);

struct CompareArguments {
  std::string a;
  std::string b;
  std::vector<std::string> by;
  std::vector<std::string> figures;  ///< Empty: those that are looked at first.
  std::string format = "table";      ///< table, markdown or csv.
};

/// Prints what differs between two runs or sweeps. Throws ComparisonError.
int compare_results(const CompareArguments& arguments);

struct PredictArguments {
  StepHalves halves;
  unsigned batch = 1;  ///< Tokens of a step.
};

/// Prints what a step would take with each strategy. Throws RefusedError.
int predict_step(const PredictArguments& arguments);

struct WhatIfArguments {
  std::string config;
  std::vector<std::string> sets;
};

/// Prints what changes of the machine and the strategy would give a configuration, in virtual time.
/// Throws ConfigError and RefusedError.
int print_what_if(const WhatIfArguments& arguments);

/// Of `calibrate`, as `run` has them where the names are the same.
struct CalibrateArguments {
  std::string config;  ///< Whose model and limits; empty: the demo's.
  std::string runtime;
  std::vector<std::string> sets;
  std::string out;
  bool force = false;
  std::string command_line;  ///< As it was given, for the file.
};

/// Measures this machine and writes its hardware profile. Throws RefusedError and ConfigError
/// before anything is measured.
int calibrate_machine(const CalibrateArguments& arguments);

}  // namespace syncopate::experiments::cli
