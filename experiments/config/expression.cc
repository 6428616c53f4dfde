#include "experiments/config/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"

namespace syncopate::experiments {

namespace {

using Value = std::variant<std::monostate, bool, double, std::string>;

constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
constexpr std::size_t kMostCharacters = 1000;  // a term's depth is bounded by it
constexpr int kMostNested = 100;
constexpr std::string_view kDigits = "0123456789";

std::string_view kind_of(const Value& value) {
  constexpr std::string_view kNames[] = {"null", "true or false", "a number", "text"};
  return kNames[value.index()];
}

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

/// What a scalar of YAML, or a word of an expression, is.
Value value_of(const std::string& text) {
  if (text == "true" || text == "on") return true;
  if (text == "false" || text == "off") return false;
  if (text == "null") return {};
  if (const auto number = as_number(text)) return *number;
  return text;
}

}  // namespace

struct Expression::Term {
  enum class Kind { kValue, kPath, kOperator };

  Kind kind = Kind::kValue;
  Value value;                                  ///< kValue.
  std::string text;                             ///< The path, or the operator.
  std::vector<std::unique_ptr<const Term>> of;  ///< The operator's operands.
};

namespace {

using Term = Expression::Term;
using Owned = std::unique_ptr<const Term>;

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const yaml::Where& where) : text_(text), where_(where) {}

  Owned parse() {
    if (text_.size() > kMostCharacters) {
      throw yaml::ConfigError(where_, fmt::format("is longer than {} characters", kMostCharacters));
    }
    Owned whole = any_of();
    skip_spaces();
    if (at_ < text_.size()) fail(at_, "expected an operator");
    return whole;
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string_view what) const {
    const std::string found =
        at < text_.size() ? fmt::format("'{}'", yaml::clipped(text_.substr(at))) : "the end";
    throw yaml::ConfigError(where_, fmt::format("{}, got {}", what, found));
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  /// A word of letters, digits, dots and underscores, which stays unread.
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 ||
                                  text_[end] == '_' || text_[end] == '.')) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }

  bool take_word(std::string_view wanted) {
    skip_spaces();
    if (word() != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  bool take(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  /// `right` may be none.
  static Owned make(std::string_view name, Owned left, Owned right) {
    Term term{Term::Kind::kOperator, {}, std::string(name), {}};
    term.of.push_back(std::move(left));
    if (right) term.of.push_back(std::move(right));
    return std::make_unique<Term>(std::move(term));
  }

  Owned any_of() {
    Owned left = all_of();
    while (take_word("or")) left = make("or", std::move(left), all_of());
    return left;
  }

  Owned all_of() {
    Owned left = negation();
    while (take_word("and")) left = make("and", std::move(left), negation());
    return left;
  }

  Owned negation() {
    if (!take_word("not")) return comparison();
    const Nested nested(*this);
    return make("not", negation(), nullptr);
  }

  Owned comparison() {
    Owned left = sum();
    for (const std::string_view name : kComparisons) {
      if (take(name)) return make(name, std::move(left), sum());
    }
    return left;
  }

  Owned sum() {
    return chain({"+", "-"}, [this] { return product(); });
  }
  Owned product() {
    return chain({"*", "/", "%"}, [this] { return operand(); });
  }

  template <class Next>
  Owned chain(std::initializer_list<std::string_view> names, const Next& next) {
    Owned left = next();
    for (;;) {
      const auto name = std::ranges::find_if(names, [this](auto each) { return take(each); });
      if (name == names.end()) return left;
      left = make(*name, std::move(left), next());
    }
  }

  Owned operand() {
    skip_spaces();
    const std::size_t at = at_;
    if (take("(")) {
      const Nested nested(*this);
      Owned inner = any_of();
      if (!take(")")) fail(at_, "expected ')'");
      return inner;
    }
    if (take("-")) {
      const Nested nested(*this);
      return make("-", literal(0.0), operand());
    }
    if (at < text_.size() && (text_[at] == '\'' || text_[at] == '"')) return quoted();
    return lone_word();
  }

  static Owned literal(Value value) {
    return std::make_unique<Term>(Term{Term::Kind::kValue, std::move(value), {}, {}});
  }

  Owned quoted() {
    const std::size_t at = at_;
    const std::size_t end = text_.find(text_[at], at + 1);
    if (end == std::string_view::npos) fail(at, "expected a closing quote");
    at_ = end + 1;
    return literal(std::string(text_.substr(at + 1, end - at - 1)));
  }

  Owned lone_word() {
    const std::size_t at = at_;
    std::string_view name = word();
    if (name.empty()) fail(at, "expected a key, a number or text");
    // "1e-3": the sign is part of the number.
    if (kDigits.find(name.front()) != std::string_view::npos && (name.back() | 0x20) == 'e' &&
        at + name.size() < text_.size() && text_[at + name.size()] == '-') {
      const std::size_t end =
          std::min(text_.find_first_not_of(kDigits, at + name.size() + 1), text_.size());
      name = text_.substr(at, end - at);
    }
    at_ += name.size();
    if (kDigits.find(name.front()) != std::string_view::npos && !as_number(name)) {
      fail(at, "expected a number");
    }
    if (name.find('.') == std::string_view::npos || as_number(name)) {
      return literal(value_of(std::string(name)));
    }
    if (!yaml::is_path(name)) fail(at, "expected a key, as in limits.rows");
    return std::make_unique<Term>(Term{Term::Kind::kPath, {}, std::string(name), {}});
  }

  /// Brackets within brackets are parsed by a function that calls itself.
  struct Nested {
    explicit Nested(ExpressionParser& within) : parser(within) {
      if (++parser.depth_ > kMostNested) parser.fail(parser.at_, "expected fewer brackets");
    }
    ~Nested() { --parser.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ExpressionParser& parser;
  };

  std::string_view text_;
  const yaml::Where& where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// Works out terms over one configuration.
class Evaluation {
 public:
  Evaluation(const yaml::Node& config, const yaml::Where& where) : config_(config), where_(where) {}

  bool truth(const Term& term) const { return evaluate_as<bool>(term, "true or false"); }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw yaml::ConfigError(where_, what); }

  template <class T>
  T evaluate_as(const Term& term, std::string_view expected) const {
    const Value value = evaluate(term);
    if (const T* wanted = std::get_if<T>(&value)) return *wanted;
    const std::string what = term.text.empty() ? "a value" : fmt::format("'{}'", term.text);
    fail(fmt::format("{} is {}, where {} is needed", what, kind_of(value), expected));
  }
  double number(const Term& term) const { return evaluate_as<double>(term, "a number"); }

  Value evaluate(const Term& term) const {
    if (term.kind == Term::Kind::kValue) return term.value;
    if (term.kind == Term::Kind::kPath) return look_up(term.text);
    const std::string_view name = term.text;
    if (name == "or") return truth(*term.of[0]) || truth(*term.of[1]);
    if (name == "and") return truth(*term.of[0]) && truth(*term.of[1]);
    if (name == "not") return !truth(*term.of[0]);
    if (name == "==") return equal(term);
    if (name == "!=") return !equal(term);
    return calculate(term);
  }

  bool equal(const Term& term) const {
    const Value left = evaluate(*term.of[0]);
    const Value right = evaluate(*term.of[1]);
    const bool null = left.index() == 0 || right.index() == 0;
    if (left.index() != right.index() && !null) {
      fail(fmt::format("'{}' compares {} with {}", term.text, kind_of(left), kind_of(right)));
    }
    return left == right;
  }

  Value calculate(const Term& term) const {
    const double left = number(*term.of[0]);
    const double right = number(*term.of[1]);
    const std::string_view name = term.text;
    if (name == "<") return left < right;
    if (name == "<=") return left <= right;
    if (name == ">") return left > right;
    if (name == ">=") return left >= right;
    if (name == "+") return left + right;
    if (name == "-") return left - right;
    if (name == "*") return left * right;
    if (right == 0) fail(fmt::format("'{}' divides by 0", name));
    return name == "/" ? left / right : std::fmod(left, right);
  }

  const yaml::Node& step(const yaml::Node& node, std::string_view part,
                         const std::string& path) const {
    std::vector<std::string_view> keys;
    if (node.kind == yaml::Node::Kind::kList) {
      const auto index = as_number(part);
      if (index && *index >= 0 && *index < static_cast<double>(node.items.size())) {
        return node.items[static_cast<std::size_t>(*index)];
      }
    } else if (const yaml::Node* found = node.find(part)) {
      return *found;
    }
    for (const auto& entry : node.entries) keys.push_back(entry.key);
    const auto near = yaml::nearest(part, keys);
    fail(fmt::format("the configuration has no '{}'{}", path,
                     near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }

  Value look_up(const std::string& path) const {
    const yaml::Node* node = &config_;
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      node = &step(*node, part, path);
    }
    if (node->kind == yaml::Node::Kind::kNull) return {};
    if (node->kind != yaml::Node::Kind::kScalar) {
      fail(fmt::format("'{}' is a map or a list: name one value of it", path));
    }
    return node->quoted ? Value(node->text) : value_of(node->text);
  }

  const yaml::Node& config_;
  const yaml::Where& where_;
};

}  // namespace

Expression::Expression(std::string text, yaml::Where where)
    : text_(std::move(text)),
      where_(std::move(where)),
      root_(ExpressionParser(text_, where_).parse()) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

bool Expression::holds(const yaml::Node& config) const {
  return Evaluation(config, where_).truth(*root_);
}

}  // namespace syncopate::experiments
