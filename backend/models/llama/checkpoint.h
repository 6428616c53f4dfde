// The tensors of a checkpoint folder, whichever of its files they are in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backend/models/llama/safetensors.h"

namespace syncopate::models::llama {

/// A folder with model.safetensors.index.json and the files that its weight_map names, or else with
/// model.safetensors alone. Immutable once made; safe to use from any thread.
class Checkpoint {
 public:
  /// Opens every file. Throws CheckpointError when one is missing or not well-formed, or does not
  /// hold a tensor that the index places in it.
  explicit Checkpoint(const std::filesystem::path& folder);

  /// As SafetensorsFile::find. What it gives is a view of this object's files.
  FloatTensor find(const std::string& name, const std::vector<std::uint64_t>& shape) const;

 private:
  void open_index(const std::filesystem::path& folder, const std::filesystem::path& index);

  std::string source_;  // the index, or the only file
  std::map<std::string, SafetensorsFile> files_;
  std::map<std::string, const SafetensorsFile*> tensors_;
};

}  // namespace syncopate::models::llama
