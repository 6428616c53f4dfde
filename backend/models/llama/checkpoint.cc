#include "backend/models/llama/checkpoint.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/models/llama/error.h"

namespace syncopate::models::llama {

Checkpoint::Checkpoint(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (std::filesystem::exists(index)) {
    source_ = index.string();
    open_index(folder, index);
    return;
  }
  const std::filesystem::path single = folder / "model.safetensors";
  source_ = single.string();
  const SafetensorsFile& file = files_.try_emplace("model.safetensors", single).first->second;
  for (const auto& [name, tensor] : file.tensors()) tensors_.emplace(name, &file);
}

void Checkpoint::open_index(const std::filesystem::path& folder,
                            const std::filesystem::path& index) {
  nlohmann::json parsed;
  try {
    std::ifstream stream(index);
    parsed = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(source_, "", error.what());
  }
  if (!parsed.is_object() || !parsed.contains("weight_map") || !parsed["weight_map"].is_object())
    throw CheckpointError(source_, "", "has no 'weight_map'");
  for (const auto& [name, value] : parsed["weight_map"].items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : "";
    // A file of this folder, not a path out of it.
    if (file.empty() || std::filesystem::path(file).filename() != file || file == "..")
      throw CheckpointError(source_, name, "is placed in " + value.dump() + ", not a file name");
    const SafetensorsFile& opened = files_.try_emplace(file, folder / file).first->second;
    if (!opened.tensors().contains(name))
      throw CheckpointError((folder / file).string(), name, "is missing; the index places it here");
    tensors_.emplace(name, &opened);
  }
}

FloatTensor Checkpoint::find(const std::string& name,
                             const std::vector<std::uint64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw CheckpointError(source_, name, "is missing");
  return found->second->find(name, shape);
}

}  // namespace syncopate::models::llama
