// The error of every file that a user writes: where, what, and what would be right.
#pragma once

#include <string>
#include <utility>

#include "backend/runtime/error.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

/// What is wrong with a configuration. what() is one line of text that starts with the place:
/// "configs/a.yaml:3:5: unknown key 'slot' in strategy; did you mean 'slots'? …".
class ConfigError : public runtime::Error {
 public:
  ConfigError(Where where, const std::string& message)
      : Error(where.text() + ": " + message), where_(std::move(where)) {}

  const Where& where() const { return where_; }

 private:
  Where where_;
};

}  // namespace syncopate::experiments::yaml
