#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "experiments/yaml/error.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/text.h"

namespace syncopate::experiments::yaml {
namespace {

constexpr std::string_view kOpenQuote =
    "this quote is not closed on its line: text in quotes ends on the line where it begins";

/// Builds the tree from yaml-cpp's events. Containers under construction are on a stack by value
/// and move into their parent when they end.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<const std::string> source, const std::string& text)
      : source_(std::move(source)), text_(text) {}

  Node take() { return std::move(root_); }

  /// The innermost bracket that is open, while there is one.
  const Where* open_bracket() const {
    return stack_.empty() || !stack_.back().bracket ? nullptr : &stack_.back().node.where;
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    put(node(Node::Kind::kNull, mark), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw ConfigError(where(mark), "aliases (*name) are not supported: write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag == "?" && (value == "null" || value == "~" || value.empty())) {
      return put(node(Node::Kind::kNull, mark), mark);
    }
    if (!tag.empty() && tag != "?" && tag != "!") refuse_tag(mark, tag);
    Node scalar = node(Node::Kind::kScalar, mark);
    scalar.text = value;
    scalar.quoted = tag == "!";
    const auto at = static_cast<std::size_t>(mark.pos);
    if (scalar.quoted && (text_[at] == '"' || text_[at] == '\'') &&
        !closes_on_its_line(text_, at)) {
      throw ConfigError(where(mark), kOpenQuote);
    }
    put(std::move(scalar), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::kList, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::kMap, mark, tag, anchor, style);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    bool bracket;                       // written in brackets, not by indentation
    std::optional<Node> key;            // of a map: read, its value not yet
    std::map<std::string, Where> keys;  // of a map: all keys so far
  };

  Where where(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1}; }

  Node node(Node::Kind kind, const YAML::Mark& mark) const {
    Node made;
    made.kind = kind;
    made.where = where(mark);
    return made;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) {
      throw ConfigError(where(mark), "anchors (&name) are not supported: write the value out");
    }
  }

  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    throw ConfigError(where(mark),
                      fmt::format("tags are not supported: remove '{}'", clipped(tag)));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    refuse_anchor(mark, anchor);
    if (!tag.empty() && tag != "?" && tag != "!") refuse_tag(mark, tag);
    if (wants_key())
      throw ConfigError(where(mark), "a key must be plain text; is a bracket left open?");
    stack_.push_back({node(kind, mark), style == YAML::EmitterStyle::Flow, std::nullopt, {}});
  }

  void close() {
    Node done = std::move(stack_.back().node);
    stack_.pop_back();
    put(std::move(done), {});
  }

  bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind == Node::Kind::kMap && !stack_.back().key;
  }

  void put(Node value, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == Node::Kind::kList) {
      parent.node.items.push_back(std::move(value));
    } else if (!parent.key) {
      if (value.kind != Node::Kind::kScalar) throw ConfigError(where(mark), "a key is missing");
      if (value.text == "<<" && !value.quoted) {
        throw ConfigError(where(mark), "merge keys (<<) are not supported: write the keys out");
      }
      refuse_duplicate(parent, value);
      parent.key = std::move(value);
    } else {
      // An empty value is reported where its key stands: the parser is already lines further.
      if (value.kind == Node::Kind::kNull) value.where = parent.key->where;
      parent.node.entries.push_back({parent.key->text, parent.key->where, std::move(value)});
      parent.key.reset();
    }
  }

  static void refuse_duplicate(Open& map, const Node& key) {
    const auto [first, added] = map.keys.emplace(key.text, key.where);
    if (added) return;
    throw ConfigError(key.where,
                      fmt::format("duplicate key '{}': it stands at line {}, column {} already",
                                  clipped(key.text), first->second.line, first->second.column));
  }

  std::shared_ptr<const std::string> source_;
  const std::string& text_;
  std::vector<Open> stack_;
  Node root_;
};

/// The parser's own words, with what likely led to them: a quote or a bracket left open is often
/// noticed far below.
[[noreturn]] void refuse_syntax(const YAML::Exception& error, const std::string& text,
                                const Where* bracket,
                                const std::shared_ptr<const std::string>& source) {
  const Where place{source, error.mark.line + 1, error.mark.column + 1};
  if (const auto quote = find_open_quote(text)) {
    throw ConfigError(place_in(text, *quote, source), kOpenQuote);
  }
  if (bracket != nullptr) {
    throw ConfigError(*bracket,
                      fmt::format("this bracket is not closed, or what is in it is not valid YAML "
                                  "(line {}, column {}: {})",
                                  place.line, place.column, error.msg));
  }
  throw ConfigError(place, "not valid YAML: " + error.msg);
}

}  // namespace

Node parse(std::string text, std::string source_name) {
  const auto source = std::make_shared<const std::string>(std::move(source_name));
  normalise(text, source);

  Builder builder(source, text);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    Builder second(source, text);
    if (parser.HandleNextDocument(second)) {
      throw ConfigError(second.take().where, "a second document: a file holds one");
    }
  } catch (const YAML::DeepRecursion& error) {
    throw ConfigError({source, error.mark.line + 1, error.mark.column + 1}, "is nested too deeply");
  } catch (const YAML::Exception& error) {
    refuse_syntax(error, text, builder.open_bracket(), source);
  }
  Node root = builder.take();
  if (root.where.source == nullptr) root.where = {source, 0, 0};
  return root;
}

Node load(const std::filesystem::path& file) {
  const Where whole{std::make_shared<const std::string>(file.string()), 0, 0};
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw ConfigError(whole, "no such file");
  }
  if (error) throw ConfigError(whole, "cannot be read: " + error.message());
  if (std::filesystem::is_directory(status)) throw ConfigError(whole, "is a folder, not a file");
  if (!std::filesystem::is_regular_file(status)) {
    throw ConfigError(whole, "is not a regular file");
  }
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > kMaxFileBytes) {
    throw ConfigError(whole, fmt::format("is {} MiB large; a configuration may have {} MiB",
                                         size >> 20, kMaxFileBytes >> 20));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream) {
    throw ConfigError(whole, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  return parse(std::move(text), file.string());
}

}  // namespace syncopate::experiments::yaml
