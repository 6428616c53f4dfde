// A run's figures and files.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "experiments/config/load.h"
#include "experiments/run/run.h"
#include "experiments/run/run_folder.h"

namespace syncopate::experiments {

/// metrics.json. What holds for any program stands at the top; what only one has, in `batching` or
/// `ulysses`. `complete` is false and `error` says why when the run did not come to its end:
/// the figures are then of what there is. `races` is the number of different races, null when the
/// run was not logged or not complete. `activities` counts the records of output.kernels.
nlohmann::ordered_json metrics(const RunResult& run);

/// Puts a run's files into `folder`, without committing it: config.yaml (and profile.yaml, to which
/// it points: together they run the same again), environment.json, metrics.json,
/// timeline.json when the run was logged, and with output.trace trace.json.gz. With output.tables
/// steps.csv and requests.csv of the batching program, samples.csv of the Ulysses program. With
/// output.tokens tokens.json (an array of token ids a request, prompts not included).
void write_run(RunFolder& folder, const ResolvedConfig& config, const RunResult& run,
               const nlohmann::ordered_json& metrics);

/// Keeps what there is of an interrupted run, as write_run() has it, in a folder beside `target`
/// whose name ends in ".incomplete"; an older run of that name is replaced. Returns the folder.
/// Throws RunFolderError. `target` itself stays as it is.
std::filesystem::path write_incomplete_run(const std::filesystem::path& target,
                                           const ResolvedConfig& config, const RunResult& run);

}  // namespace syncopate::experiments
