// The driver as a program: many seeds, and a failing one made small.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/runtime/error.h"
#include "experiments/cli/progress.h"
#include "experiments/run/engines.h"
#include "tests/driver/campaign.h"
#include "tests/driver/mutation.h"
#include "tests/driver/replay.h"

#if SYNCOPATE_HAS_FLASHINFER
#include "tests/llama_cuda/subject.h"
#endif

namespace syncopate::driver {
namespace {

struct Arguments {
  std::string runtime = "sim";
  std::string model = "hash";
  std::vector<std::uint64_t> seeds = {1, 1000};
  unsigned jobs = std::max(std::thread::hardware_concurrency(), 1U);
  std::string mutation;
  bool table = false;
  bool shrink = true;
  std::string out = "runs/driver";
};

/// The table of docs/testing.md: each mistake, and the seed and the rule that found it.
int print_table(CampaignOptions options) {
  fmt::print("| mistake | where | found at seed | by |\n| --- | --- | --- | --- |\n");
  bool all = true;
  for (const Mutation& mutation : mutations()) {
    options.play.removed_sites = switch_on(mutation);
    const auto failing = run_campaign(options);
    all = all && failing;
    fmt::print("| {} | `{}` | {} | {} |\n", mutation.name, mutation.place,
               failing ? std::to_string(failing->seed) : "-",
               failing ? failing->failure.check : "-");
  }
  return all ? 0 : 1;
}

/// What makes the transformer; nothing for the hash model.
MakeSubject subject_of(const Arguments& arguments) {
  if (arguments.model == "hash") return {};
#if SYNCOPATE_HAS_FLASHINFER
  if (arguments.model == "llama" && arguments.runtime == "cuda") {
    return models::llama::make_device_subject;
  }
#endif
  throw runtime::UnavailableError("model " + arguments.model + ": only hash, and llama on cuda " +
                                  "where it is built");
}

int run(const Arguments& arguments) {
  CampaignOptions options;
  for (const auto& choice : experiments::yaml::ChoicesOf<experiments::RuntimeKind>::value) {
    if (choice.name == arguments.runtime) options.play.runtime = choice.value;
  }
  if (const std::string missing = experiments::what_is_missing(options.play.runtime);
      !missing.empty()) {
    throw runtime::UnavailableError("runtime " + arguments.runtime + ": " + missing);
  }
  options.play.make_subject = subject_of(arguments);
  options.first = arguments.seeds[0];
  options.count = arguments.seeds[1];
  // On a device, one engine at a time (backend/cuda/engine.h).
  options.jobs = options.play.runtime == experiments::RuntimeKind::kCuda ? 1 : arguments.jobs;
  if (arguments.table) return print_table(options);
  if (!arguments.mutation.empty()) {
    options.play.removed_sites = switch_on(find_mutation(arguments.mutation));
  }
  std::optional<FailingSeed> failing;
  {
    experiments::cli::ProgressLine line("driver");
    options.on_progress = [&](std::uint64_t done) {
      line.update(fmt::format("{} of {} seeds", done, options.count));
    };
    failing = run_campaign(options);
  }
  if (!failing) {
    fmt::print("{} seeds from {} on {}: no difference\n", options.count, options.first,
               arguments.runtime);
    return 0;
  }
  fmt::print("seed {} fails, {}: {}\n", failing->seed,
             failing->failure.synchronous ? "synchronous" : "asynchronous", failing->failure.text);
  // A case's configuration says the hash model: run again, another model would be another case.
  if (!arguments.shrink || options.play.make_subject) return 1;
  const Case small = shrink_seed(*failing, options.play);
  const Failure failure =
      play(small, failing->failure.synchronous, options.play).failure.value_or(failing->failure);
  const auto file = write_replay(small, failure, options.play.runtime, arguments.out);
  fmt::print("made small: {}\nreplay: syncopate run {}\n", failure.text, file.string());
  return 1;
}

}  // namespace
}  // namespace syncopate::driver

int main(int argc, char** argv) {
  syncopate::driver::Arguments arguments;
  CLI::App app{
      "Draws cases from seeds, runs each synchronously and asynchronously, and holds both "
      "against the definition"};
  app.add_option("--runtime", arguments.runtime, "sim, cpu or cuda")
      ->check(CLI::IsMember({"sim", "cpu", "cuda"}));
  app.add_option("--model", arguments.model, "hash, or llama on cuda");
  app.add_option("--seeds", arguments.seeds, "The first seed, and how many")->expected(2);
  app.add_option("--jobs", arguments.jobs, "Threads")->check(CLI::PositiveNumber);
  app.add_option("--mutation", arguments.mutation, "Switch on a mistake (driver_mutants only)");
  app.add_flag("--table", arguments.table, "All of them, as a table (driver_mutants only)");
  app.add_flag("--shrink,!--no-shrink", arguments.shrink, "Make the failing case small (default)");
  app.add_option("--out", arguments.out, "Where the small case is written");
  CLI11_PARSE(app, argc, argv);
  try {
    return syncopate::driver::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "driver: {}\n", error.what());
    return 2;
  }
}
