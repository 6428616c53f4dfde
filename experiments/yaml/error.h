// The error of every file that a user writes: where, what, and what would be right.
#pragma once

#include <string>
#include <string_view>

#include "backend/runtime/error.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

/// `text` as it may stand within one line of a message: control characters are written out (\n,
/// \x1b), so that what a file holds can neither break the line nor reach the terminal.
std::string printable(std::string_view text);

/// The beginning of a word that a file holds, for a message that quotes it: at most 40 bytes, then
/// an ellipsis. Characters of UTF-8 stay whole.
std::string clipped(std::string_view text);

/// What is wrong with a configuration. what() is one line of text that starts with the place:
/// "configs/a.yaml:3:5: unknown key 'slot' in strategy; did you mean 'slots'? …".
class ConfigError : public runtime::Error {
 public:
  /// A key before the message ("strategy.slots: …") is left out where the place names it.
  ConfigError(Where where, std::string_view message);

  const Where& where() const { return where_; }

 private:
  Where where_;
};

}  // namespace syncopate::experiments::yaml
