#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/cli/cli.h"
#include "experiments/cli/commands.h"
#include "experiments/config/config.h"
#include "experiments/config/profile_file.h"
#include "experiments/run/engines.h"
#include "experiments/run/models.h"

namespace syncopate::experiments::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

void print(std::string_view title, const Lines& lines) {
  std::size_t width = 0;
  for (const auto& [name, doc] : lines) width = std::max(width, name.size());
  fmt::print("{}\n", title);
  for (const auto& [name, doc] : lines) fmt::print("  {:<{}}  {}\n", name, width, doc);
}

std::string with_availability(std::string_view doc, const std::string& missing) {
  return missing.empty() ? std::string(doc) : fmt::format("{} (not available: {})", doc, missing);
}

template <class E>
Lines choices() {
  Lines lines;
  for (const auto& choice : yaml::ChoicesOf<E>::value) lines.emplace_back(choice.name, choice.doc);
  return lines;
}

template <class... Programs>
Lines names_of(const std::variant<Programs...>* /*of*/) {
  return {{std::string(Programs::kKind), std::string(Programs::kDoc)}...};
}

Lines programs() { return names_of(static_cast<const Config*>(nullptr)); }

Lines runtimes() {
  Lines lines;
  for (const auto& choice : yaml::ChoicesOf<RuntimeKind>::value) {
    lines.emplace_back(choice.name, with_availability(choice.doc, what_is_missing(choice.value)));
  }
  return lines;
}

Lines models() {
  Lines lines;
  const auto add = [&](std::string_view kind, std::string_view doc) {
    // On threads: every build has that runtime.
    lines.emplace_back(kind, with_availability(doc, what_is_missing(kind, RuntimeKind::kCpu)));
  };
  add(HashModelConfig::kKind, HashModelConfig::kDoc);
  add(LlamaModelConfig::kKind, LlamaModelConfig::kDoc);
  return lines;
}

Lines profiles() {
  Lines lines;
  const auto folder = configs_folder() / "hardware";
  for (const std::string& name : profile_names(folder)) {
    lines.emplace_back(name, load_profile(folder / (name + ".yaml")).about);
  }
  return lines;
}

}  // namespace

int list() {
  print("programs", programs());
  print("runtimes", runtimes());
  print("strategies of batching", choices<StrategyKind>());
  print("strategies of ulysses", choices<PassStrategy>());
  print("models", models());
  print("hardware profiles", profiles());
  return kOk;
}

}  // namespace syncopate::experiments::cli
