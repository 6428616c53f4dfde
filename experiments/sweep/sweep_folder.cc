#include "experiments/sweep/sweep_folder.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "experiments/run/environment.h"
#include "experiments/run/partial_folder.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/whole_file.h"
#include "experiments/sweep/result_table.h"

namespace syncopate::experiments {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "syncopate sweep";

std::optional<Json> read_json(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  Json read = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (read.is_discarded()) return {};
  return read;
}

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Json values_json(const SweepPlan& plan, const std::vector<yaml::Node>& values) {
  Json out = Json::object();
  for (std::size_t i = 0; i < plan.keys.size(); ++i) out[plan.keys[i]] = to_json(values[i]);
  return out;
}

/// Killed while it wrote its manifest.
bool is_unborn(const fs::path& folder) {
  const std::string partial = fmt::format(".{}.partial-", kManifest);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(partial)) return false;
  }
  return !error;
}

}  // namespace

bool is_sweep_folder(const fs::path& folder) {
  const auto manifest = read_json(folder / kManifest);
  return manifest && manifest->is_object() && manifest->value("format", "") == kFormat;
}

void check_sweep_target(const fs::path& target, Existing existing) {
  std::error_code error;
  if (!fs::is_directory(target, error) || fs::is_empty(target, error)) {
    try {
      return check_target(target, false);
    } catch (const RunFolderExistsError&) {  // another shard may have begun it this moment
      if (!fs::is_directory(target, error)) throw;
    }
  }
  if (is_unborn(target)) return;
  if (!is_sweep_folder(target)) {
    throw RunFolderExistsError(target.string() +
                               " exists and is no sweep's folder: choose another with --out");
  }
  if (existing != Existing::kNone) return;
  throw RunFolderExistsError(
      target.string() +
      " exists: go on with --resume, replace it with --force, or choose another with --out");
}

bool SweepFolder::finished(const SweepPoint& of) const {
  std::error_code error;
  return fs::is_regular_file(point(of) / "metrics.json", error);
}

std::optional<Json> SweepFolder::figures(const SweepPoint& of) const {
  return read_json(point(of) / "metrics.json");
}

void SweepFolder::prepare(const SweepPlan& plan, const std::string& command_line,
                          Existing existing) const {
  std::error_code error;
  if (existing == Existing::kReplace && fs::exists(path_, error)) {
    // Under another name first: what is left of a removal that was cut short is no sweep.
    const fs::path full = fs::absolute(path_).lexically_normal();
    const fs::path named = full.has_filename() ? full : full.parent_path();
    const fs::path old = named.parent_path() / fmt::format(".{}.old", named.filename().string());
    fs::remove_all(old, error);
    fs::rename(named, old, error);
    if (error) throw_folder_error("move", named, error.value());
    fs::remove_all(old, error);
  }
  fs::create_directories(path_, error);
  if (error) throw_folder_error("make", path_, error.value());
  write_manifest(plan, command_line);  // first: it tells a sweep that was killed from other folders
  fs::create_directories(path_ / "points", error);
  if (error) throw_folder_error("make", path_ / "points", error.value());
  PartialFolder::remove_abandoned(path_ / "points");
}

void SweepFolder::write_manifest(const SweepPlan& plan, const std::string& command_line) const {
  Json out{{"format", kFormat},
           {"command", command_line},
           {"sweep", plan.sweep.file.string()},
           {"base", plan.base.string()},
           {"environment", build_and_machine()},
           {"sweep_text", read_file(plan.sweep.file)},
           {"base_text", read_file(plan.base)},
           {"keys", plan.keys},
           {"points", Json::array()},
           {"dropped", Json::array()}};
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const SweepPoint& point = plan.points[i];
    out["points"].push_back({{"point", i},
                             {"repeat", point.repeat},
                             {"values", values_json(plan, point.values)},
                             {"folder", "points/" + point.name}});
  }
  for (const DroppedPoint& point : plan.dropped) {
    out["dropped"].push_back(
        {{"values", values_json(plan, point.values)}, {"because", point.because}});
  }
  write_whole_file(path_ / kManifest, out.dump(2) + '\n', /*replace=*/true);
}

std::string SweepFolder::revision_of_manifest() const {
  const auto manifest = read_json(path_ / kManifest);
  const Json::json_pointer revision("/environment/revision");
  if (!manifest || !manifest->contains(revision)) return "";
  const Json& text = manifest->at(revision);
  return text.is_string() ? text.get<std::string>() : "";
}

}  // namespace syncopate::experiments
