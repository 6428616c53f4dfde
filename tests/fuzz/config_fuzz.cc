// Any bytes are a configuration, or a ConfigError that says where; what is read is written back and
// reads the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "experiments/config/check.h"
#include "experiments/config/config.h"
#include "experiments/config/expression.h"
#include "experiments/config/profile_file.h"
#include "experiments/config/sweep_file.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/reader.h"
#include "experiments/yaml/writer.h"

namespace syncopate::experiments {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void read_back(const T& value) {
  const std::string once = yaml::dump(yaml::write(value));
  try {
    yaml::Origins origins;
    const T again = yaml::read<T>(yaml::parse(once, "again"), origins);
    require(yaml::dump(yaml::write(again)) == once);
  } catch (const yaml::ConfigError&) {
    std::abort();
  }
}

template <class Action>
void allow_config_errors(const Action& action) {
  try {
    action();
  } catch (const yaml::ConfigError& error) {
    const std::string message = error.what();
    require(!message.empty() && message.find('\n') == std::string::npos);
  }
}

/// As load_config() does, less what it looks for on the disk.
void read_config(const yaml::Node& root) {
  yaml::Origins origins;
  const auto config = yaml::read<Config>(root, origins);
  read_back(config);
  check(config, origins);
}

void read_profile(const yaml::Node& root) {
  yaml::Origins origins;
  read_back(yaml::read<ProfileFile>(root, origins));
}

/// Its conditions on itself: what they name is mostly not there.
void read_sweep(const yaml::Node& root) {
  const SweepFile sweep = experiments::read_sweep(root, "fuzz");
  for (const ConstraintConfig& constraint : sweep.config.constraints) {
    allow_config_errors([&] { Expression(constraint.require, root.where).holds(root); });
  }
}

}  // namespace
}  // namespace syncopate::experiments

// libFuzzer's name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate::experiments;
  const std::string text(reinterpret_cast<const char*>(data), size);
  allow_config_errors([&] {
    yaml::Node root = yaml::parse(text, "fuzz");
    allow_config_errors([&] { read_config(root); });
    allow_config_errors([&] { read_profile(root); });
    allow_config_errors([&] { read_sweep(root); });
    // The text's last line once more, as an option of the command line.
    const std::size_t line = text.find_last_of('\n');
    if (line != std::string::npos) yaml::assign(root, text.substr(line + 1));
    allow_config_errors([&] { read_config(root); });
  });
  return 0;
}
