#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "experiments/calibrate/calibrate.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/progress.h"
#include "experiments/config/load.h"
#include "experiments/config/profile_file.h"
#include "experiments/run/available.h"
#include "experiments/run/batcher_options.h"
#include "experiments/run/engines.h"
#include "experiments/run/environment.h"
#include "experiments/run/models.h"
#include "experiments/run/whole_file.h"
#include "experiments/run/workload.h"

namespace syncopate::experiments::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHead =
    "# Written by `syncopate calibrate`: medians of measurements, and terms fitted to them.\n";

/// A visitor of descriptions that leaves doubles with six digits: what was measured has no more.
struct RoundDoubles {
  template <class T>
  void operator()(const yaml::Key&, T& member) {
    if constexpr (std::same_as<T, double>) {
      member = std::stod(fmt::format("{:.6g}", member));
    } else if constexpr (yaml::Described<T>) {
      describe(*this, member);
    }
  }
};

std::string text_of(const nlohmann::ordered_json& value) { return value.get<std::string>(); }

Provenance provenance(const CalibrateArguments& arguments, const ResolvedConfig& resolved,
                      const Calibration& calibration) {
  const nlohmann::ordered_json about = environment(resolved);
  const auto& config = std::get<BatchingConfig>(resolved.config);
  return {.command = arguments.command_line,
          .program = text_of(about["program"]),
          .revision = text_of(about["revision"]),
          .time = text_of(about["time"]),
          .system = text_of(about["system"]),
          .processor = text_of(about["processor"]),
          .processor_threads = about["processor_threads"].get<std::uint32_t>(),
          .runtime = std::string(yaml::name_of(config.runtime.kind)),
          .model = config.model,
          .assumed = calibration.assumed,
          .fits = calibration.fits};
}

/// Most KV entries of a request.
std::uint64_t most_entries(const std::vector<batching::Request>& requests) {
  std::uint64_t most = 0;
  for (const batching::Request& request : requests) {
    most = std::max<std::uint64_t>(most, request.prompt.size() + request.max_new_tokens);
  }
  return most;
}

void print_fit(std::string_view name, const FitQuality& fit) {
  fmt::print("  {:<9} {:5} durations; half of them within {:.2f} %, 95 % within {:.2f} %\n", name,
             fit.samples, fit.median_error_pct, fit.p95_error_pct);
}

}  // namespace

int calibrate_machine(const CalibrateArguments& arguments) {
  if (arguments.runtime != yaml::name_of(RuntimeKind::kCpu)) {
    throw RefusedError(
        fmt::format("calibrate: --runtime {}: only cpu can be calibrated", arguments.runtime));
  }
  const fs::path target = arguments.out;
  std::error_code error;
  if (!arguments.force && fs::exists(target, error)) {
    throw RefusedError(target.string() + " exists: --force replaces it");
  }
  if (fs::is_directory(target, error) || !target.has_filename()) {
    throw RefusedError(target.string() + " is a folder: --out takes a file");
  }
  // A device or a pipe would be replaced, not written to.
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {
    throw RefusedError(target.string() + " is no regular file: --out takes one, or a new name");
  }
  if (!fs::is_directory(fs::absolute(target).parent_path(), error)) {
    throw RefusedError(fmt::format("{}: no such folder", target.parent_path().string()));
  }
  const fs::path file = arguments.config.empty() ? configs_folder() / "demo/sync_cpu.yaml"
                                                 : fs::path(arguments.config);
  const ResolvedConfig config = load_config(file, {arguments.sets, arguments.runtime});
  const auto* batching = std::get_if<BatchingConfig>(&config.config);
  if (batching == nullptr) {
    throw RefusedError("calibrate: " + file.string() + " is of another program than batching");
  }
  check_available(config);
  const auto model = make_model(*batching).model;
  const std::uint64_t entries = most_entries(make_requests(batching->requests, model->vocab()));
  Calibration calibration;
  {
    ProgressLine line("calibrate");
    calibration = calibrate([&config] { return make_engine(config); }, *model,
                            batch_limits(batching->limits), entries,
                            [&line](const char* what, double share) {
                              line.update(fmt::format("{}, {:.0f} %", what, 100 * share));
                            });
  }
  ProfileFile profile;
  profile.provenance = provenance(arguments, config, calibration);
  profile.ranges = calibration.ranges;
  profile.profile = calibration.profile;
  profile.about = fmt::format("{} threads of {}, model {}; calibrated {}",
                              profile.provenance->processor_threads, profile.provenance->processor,
                              model->kind(), profile.provenance->time.substr(0, 10));
  RoundDoubles round;
  describe(round, profile);
  write_whole_file(target, kHead + to_yaml(profile), arguments.force);

  fmt::print("wrote {}\n\nfitted terms\n", target.string());
  const ProfileFits& fits = calibration.fits;
  print_fit("forward", fits.forward);
  print_fit("carry", fits.carry);
  print_fit("prepare", fits.prepare);
  print_fit("update", fits.update);
  print_fit("h2d", fits.h2d);
  print_fit("d2h", fits.d2h);
  const ProfileRanges& ranges = calibration.ranges;
  fmt::print("measured with up to {} rows, {} tokens and {} KV tokens a step\n", ranges.rows,
             ranges.tokens, ranges.kv_tokens);
  return kOk;
}

}  // namespace syncopate::experiments::cli
