// The folder of a sweep: a folder for each finished point, the plan, and the table.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/config/sweep_points.h"

namespace syncopate::experiments {

inline constexpr std::string_view kManifest = "manifest.json";
inline constexpr std::string_view kResultsCsv = "results.csv";
inline constexpr std::string_view kResultsJson = "results.json";

/// What may be there already.
enum class Existing {
  kNone,
  kContinue,  ///< A sweep: its finished points are kept.
  kReplace,   ///< A sweep: it is removed.
};

/// Whether `folder` holds a sweep.
bool is_sweep_folder(const std::filesystem::path& folder);

/// Throws RunFolderError and RunFolderExistsError (run/run_folder.h) where a sweep may not be
/// written. Writes nothing.
void check_sweep_target(const std::filesystem::path& target, Existing existing);

/// Places in a sweep's folder. Safe to use from several threads.
class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path point(const SweepPoint& point) const {
    return path_ / "points" / point.name;
  }
  /// A point's folder is whole or not there (run/run_folder.h).
  bool finished(const SweepPoint& point) const;
  /// metrics.json of a finished point; none where it cannot be read.
  std::optional<nlohmann::ordered_json> figures(const SweepPoint& point) const;

  /// Makes the folder, with manifest.json: what is planned, with what program, on which machine.
  /// Removes what killed runs have left in it. Several processes may do so at a time for the same
  /// plan, unless `existing` is kReplace. Throws RunFolderError and FileWriteError.
  void prepare(const SweepPlan& plan, const std::string& command_line, Existing existing) const;
  /// What the program of an older manifest calls its source; empty if there is none.
  std::string revision_of_manifest() const;

 private:
  void write_manifest(const SweepPlan& plan, const std::string& command_line) const;

  std::filesystem::path path_;
};

}  // namespace syncopate::experiments
