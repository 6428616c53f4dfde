#include "experiments/config/load.h"

#include <fmt/format.h>

#include "experiments/config/check.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/reader.h"
#include "experiments/yaml/writer.h"

namespace syncopate::experiments {
namespace {

void resolve(BatchingConfig& config, const std::filesystem::path& folder) {
  StrategyConfig& strategy = config.strategy;
  if (!strategy.slots) strategy.slots = strategy.kind == StrategyKind::kAsync ? 2 : 1;
  if (auto* llama = std::get_if<LlamaModelConfig>(&config.model);
      llama != nullptr && llama->checkpoint) {
    llama->checkpoint = std::filesystem::weakly_canonical(folder / *llama->checkpoint).string();
  }
}

void resolve(UlyssesConfig& config, const std::filesystem::path& /*folder*/) {
  experiments::resolve(config);
}

/// What variants that are auto are chosen by. Throws ConfigError where it says nothing of what they
/// differ in.
std::optional<ProfileFile> load_search_profile(const ResolvedConfig& resolved) {
  const auto* ulysses = std::get_if<UlyssesConfig>(&resolved.config);
  if (ulysses == nullptr) return {};
  const auto named = search_profile(*ulysses);
  if (!named) return {};
  const yaml::Where where = resolved.origins.find(named->key);
  ProfileFile profile = load_profile(find_profile(named->name, resolved.file, where));
  const sim::KernelCost& attention = profile.profile.kernel(runtime::Work::kAttention);
  if (!attention.waves && attention.per_attention_kpair_us == 0) {
    throw yaml::ConfigError(where, fmt::format("{}: profile '{}' does not say how long attention "
                                               "takes (kernels.attention), which auto chooses by",
                                               named->key, named->name));
  }
  return profile;
}

}  // namespace

ResolvedConfig load_config(const std::filesystem::path& file, const Overrides& overrides) {
  yaml::Node root = yaml::load(file);
  if (overrides.runtime) {
    yaml::assign(root, "runtime.kind=" + *overrides.runtime, "--runtime");
    if (*overrides.runtime != yaml::name_of(RuntimeKind::kSim)) {
      for (const char* key : {"profile", "effects", "chaos"}) root.find("runtime")->erase(key);
    }
  }
  for (const std::string& set : overrides.sets) yaml::assign(root, set);

  if (overrides.trace) {
    yaml::assign(root, "output.log=true", "--trace");
    yaml::assign(root, "output.trace=true", "--trace");
  }

  ResolvedConfig resolved;
  resolved.file = file;
  resolved.config = yaml::read<Config>(root, resolved.origins);
  check(resolved.config, resolved.origins);

  if (const auto& profile = runtime_of(resolved.config).profile) {
    resolved.profile_file = find_profile(*profile, file, resolved.origins.find("runtime.profile"));
    resolved.profile = load_profile(resolved.profile_file);
  }
  resolved.search_profile = load_search_profile(resolved);
  const auto folder = std::filesystem::absolute(file).parent_path();
  std::visit([&folder](auto& config) { resolve(config, folder); }, resolved.config);
  return resolved;
}

std::string to_yaml(const Config& config) { return yaml::dump(yaml::write(config)); }
std::string to_yaml(const ProfileFile& profile) { return yaml::dump(yaml::write(profile)); }

std::string to_yaml_with_origins(const ResolvedConfig& config) {
  return yaml::dump(yaml::write(config.config), [&](std::string_view path) {
    const yaml::Origins& origins = config.origins;
    return origins.written(path) ? yaml::printable(origins.find(path).text()) : "default";
  });
}

}  // namespace syncopate::experiments
