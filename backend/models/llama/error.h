// Typed errors of the transformer: what is wrong with a configuration or a checkpoint.
#pragma once

#include <string>
#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::models::llama {

/// A configuration that is malformed, contradictory, or of a model that this code does not compute.
/// The text names the source and the key.
class ConfigError : public runtime::Error {
  using Error::Error;
};

/// A checkpoint that cannot be read or does not fit its configuration. `file()` is the path;
/// `tensor()` is empty where the error is not of one tensor.
class CheckpointError : public runtime::Error {
 public:
  CheckpointError(std::string file, std::string tensor, const std::string& reason)
      : Error(file + (tensor.empty() ? "" : ": tensor '" + tensor + "'") + ": " + reason),
        file_(std::move(file)),
        tensor_(std::move(tensor)) {}
  const std::string& file() const { return file_; }
  const std::string& tensor() const { return tensor_; }

 private:
  std::string file_, tensor_;
};

}  // namespace syncopate::models::llama
