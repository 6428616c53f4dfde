#include "experiments/config/load.h"

#include <fmt/format.h>

#include <memory>

#include "experiments/config/check.h"
#include "experiments/config/length_file.h"
#include "experiments/config/request_trace.h"
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
  if (auto* requests = std::get_if<GeneratedRequests>(&config.requests);
      requests != nullptr && requests->trace) {
    requests->trace = std::filesystem::weakly_canonical(folder / *requests->trace).string();
    read_request_trace(*requests->trace);  // what is wrong with it is told before anything runs
  }
  if (auto* requests = std::get_if<GeneratedRequests>(&config.requests)) {
    for (auto* lengths : {&requests->prompt_tokens, &requests->max_new_tokens}) {
      if (!*lengths || !(*lengths)->file) continue;
      (*lengths)->file = std::filesystem::weakly_canonical(folder / *(*lengths)->file).string();
      read_lengths(*(*lengths)->file);
    }
  }
}

void resolve(UlyssesConfig& config, const std::filesystem::path& /*folder*/) {
  experiments::resolve(config);
}

/// What variants that are auto are chosen by. Throws ConfigError where it says nothing of what they
/// differ in.
std::optional<ProfileFile> load_search_profile(const ResolvedConfig& resolved, Profiles& profiles) {
  const auto* ulysses = std::get_if<UlyssesConfig>(&resolved.config);
  if (ulysses == nullptr) return {};
  const auto named = search_profile(*ulysses);
  if (!named) return {};
  const yaml::Where where = resolved.origins.find(named->key);
  const ProfileFile& profile = profiles.find(named->name, resolved.file, where).profile;
  const sim::KernelCost& attention = profile.profile.kernel(runtime::Work::kAttention);
  if (!attention.waves && attention.per_attention_kpair_us == 0) {
    throw yaml::ConfigError(where, fmt::format("{}: profile '{}' does not say how long attention "
                                               "takes (kernels.attention), which auto chooses by",
                                               named->key, named->name));
  }
  return profile;
}

}  // namespace

void set_runtime(yaml::Node& root, const yaml::Node& kind, const yaml::Where& where) {
  yaml::set_at(root, "runtime.kind", kind, where);
  if (kind.text == yaml::name_of(RuntimeKind::kSim)) return;
  for (const char* key : {"profile", "effects", "chaos"}) root.find("runtime")->erase(key);
}

const Profiles::Found& Profiles::find(const std::string& name, const std::filesystem::path& config,
                                      const yaml::Where& where) {
  const std::pair key{std::filesystem::absolute(config).parent_path(), name};
  const auto known = found_.find(key);
  if (known != found_.end()) return known->second;
  Found made{find_profile(name, config, where), {}};
  made.profile = load_profile(made.file);
  return found_.emplace(key, std::move(made)).first->second;
}

ResolvedConfig read_config(const yaml::Node& root, const std::filesystem::path& file) {
  ResolvedConfig read;
  read.file = file;
  read.config = yaml::read<Config>(root, read.origins);
  return read;
}

void resolve(ResolvedConfig& config, Profiles& profiles) {
  check(config.config, config.origins);
  if (const auto& name = runtime_of(config.config).profile) {
    const Profiles::Found& found =
        profiles.find(*name, config.file, config.origins.find("runtime.profile"));
    config.profile_file = found.file;
    config.profile = found.profile;
  }
  config.search_profile = load_search_profile(config, profiles);
  const auto folder = std::filesystem::absolute(config.file).parent_path();
  std::visit([&folder](auto& program) { resolve(program, folder); }, config.config);
}

ResolvedConfig load_config(const std::filesystem::path& file, const Overrides& overrides) {
  yaml::Node root = yaml::load(file);
  if (overrides.runtime) {
    const yaml::Where place{std::make_shared<const std::string>("--runtime runtime.kind"), 0, 0};
    yaml::Node kind = yaml::Node::scalar(*overrides.runtime);
    kind.where = place;
    set_runtime(root, kind, place);
  }
  for (const std::string& set : overrides.sets) yaml::assign(root, set);

  if (overrides.trace) {
    yaml::assign(root, "output.log=true", "--trace");
    yaml::assign(root, "output.trace=true", "--trace");
  }

  ResolvedConfig config = read_config(root, file);
  Profiles profiles;
  resolve(config, profiles);
  return config;
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
