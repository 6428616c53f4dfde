#include "experiments/config/profile_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/reader.h"

namespace syncopate::experiments {

namespace fs = std::filesystem;

ProfileFile load_profile(const fs::path& file) {
  yaml::Origins origins;
  auto read = yaml::read<ProfileFile>(yaml::load(file), origins);
  read.profile.name = file.stem().string();
  return read;
}

fs::path configs_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path installed = program.parent_path().parent_path() / "share/syncopate/configs";
    if (fs::is_directory(installed, error)) return installed;
  }
  return SYNCOPATE_CONFIGS;
}

std::vector<std::string> profile_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path find_profile(const std::string& name, const fs::path& config, const yaml::Where& where) {
  const fs::path folder = fs::absolute(config).parent_path();
  std::error_code error;
  if (name.find('/') != std::string::npos || name.ends_with(".yaml")) {
    fs::path file = folder / name;
    if (fs::exists(file, error)) return file;
    throw yaml::ConfigError(where, fmt::format("runtime.profile: no such file: {}", file.string()));
  }
  std::vector<std::string> names;
  const auto look_in = [&](const fs::path& hardware) -> fs::path {
    fs::path file = hardware / (name + ".yaml");
    if (fs::is_regular_file(file, error)) return file;
    std::ranges::copy(profile_names(hardware), std::back_inserter(names));
    return {};
  };
  for (fs::path up = folder;; up = up.parent_path()) {
    for (const char* below : {"hardware", "configs/hardware"}) {
      if (fs::path file = look_in(up / below); !file.empty()) return file;
    }
    if (up == up.parent_path()) break;
  }
  if (fs::path file = look_in(configs_folder() / "hardware"); !file.empty()) return file;

  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto near = yaml::nearest(name, {names.begin(), names.end()});
  throw yaml::ConfigError(
      where,
      fmt::format("runtime.profile: no profile '{}'{} There are: {}", yaml::clipped(name),
                  near ? fmt::format("; did you mean '{}'?", *near) : ".", fmt::join(names, ", ")));
}

}  // namespace syncopate::experiments
