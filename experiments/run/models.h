// Models by name: the one place where a configuration's word becomes a model.
#pragma once

#include <memory>
#include <string>

#include "backend/models/model.h"
#include "experiments/config/batching_config.h"

namespace syncopate::experiments {

struct MadeModel {
  std::unique_ptr<models::Model> model;
  std::string warning;  ///< What went wrong without keeping it from running; empty: nothing.
};

/// Throws runtime::UnavailableError where this build lacks it, and what the model throws on a
/// checkpoint that it cannot use.
MadeModel make_model(const BatchingConfig& config);

/// Whether the model stands for times alone, without weights: sim with effects off and a shape.
bool needs_sizes_only(const BatchingConfig& config);

/// Whether a model (its kKind) can be used on a runtime in this build: empty, or what is missing.
std::string what_is_missing(std::string_view model, RuntimeKind runtime);
/// Whether the runtime's side of a model can take this shape: empty, or what is wrong, beginning
/// with the key.
std::string what_is_wrong(const models::llama::LlamaConfig& shape, RuntimeKind runtime);

}  // namespace syncopate::experiments
