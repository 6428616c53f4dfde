// Conditions over a configuration's values, as a sweep's constraints have them.
#pragma once

#include <memory>
#include <string>

#include "experiments/yaml/node.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments {

/// `limits.pages * limits.page_tokens >= 4096 and strategy.kind != ordered`.
///
/// A word with a dot is the value under that path; one without is text, unless it is a number,
/// true, false, on, off, null, and, or, not. Text may stand in quotes. Operators, from those that
/// bind least: or; and; not; == != < <= > >=; + -; * / %. Only numbers are added and ordered;
/// values of different kinds are an error, but anything may be compared with null. `and` and `or`
/// look no further than they have to.
class Expression {
 public:
  /// `where` is the text's place, at which every error is told. Throws ConfigError.
  Expression(std::string text, yaml::Where where);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  const std::string& text() const { return text_; }

  /// Throws ConfigError where the configuration lacks a key, or a value has the wrong kind.
  bool holds(const yaml::Node& config) const;

  struct Term;  ///< In expression.cc.

 private:
  std::string text_;
  yaml::Where where_;
  std::unique_ptr<const Term> root_;
};

}  // namespace syncopate::experiments
