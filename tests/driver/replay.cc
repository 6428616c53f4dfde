#include "tests/driver/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "backend/runtime/error.h"
#include "experiments/config/load.h"

namespace syncopate::driver {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw runtime::Error("cannot write " + file.string());
}

}  // namespace

std::filesystem::path write_replay(const Case& c, const Failure& failure,
                                   experiments::RuntimeKind runtime,
                                   const std::filesystem::path& folder) {
  experiments::BatchingConfig config = config_of(c, failure.synchronous);
  const bool in_virtual_time = runtime == experiments::RuntimeKind::kSim;
  config.runtime.kind = runtime;
  if (!in_virtual_time) {
    config.runtime.profile.reset();
    config.runtime.chaos = false;
  }
  std::filesystem::create_directories(folder);
  std::string reason = failure.text;
  std::ranges::replace(reason, '\n', ' ');
  const auto file = folder / fmt::format("seed-{}.yaml", c.seed);
  write(file, fmt::format("# Seed {} of the driver, made small. It failed: {}\n{}", c.seed, reason,
                          to_yaml(config)));
  if (in_virtual_time) {
    experiments::ProfileFile profile;
    profile.about = "the driver's machine";
    profile.profile = machine();
    write(folder / config.runtime.profile.value(), to_yaml(profile));
  }
  return file;
}

}  // namespace syncopate::driver
