#include "experiments/yaml/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace syncopate::experiments::yaml {
namespace {

/// An option names the key that it sets ("--set requests.0.eos"): the message need not as well
/// ("requests[0].eos: …").
std::string_view without_key(const Where& where, std::string_view message) {
  if (where.line != 0 || where.source == nullptr || !where.source->starts_with("--")) {
    return message;
  }
  const std::string_view option = *where.source;
  const std::string_view set = option.substr(option.find(' ') + 1);
  const std::size_t colon = message.find(": ");
  if (colon == std::string_view::npos) return message;
  std::string key;
  for (const char c : message.substr(0, colon)) {
    if (c == '[') key += '.';
    if (c != '[' && c != ']') key += c;
  }
  return key == set ? message.substr(colon + 2) : message;
}

}  // namespace

ConfigError::ConfigError(Where where, std::string_view message)
    : Error(printable(fmt::format("{}: {}", where.text(), without_key(where, message)))),
      where_(std::move(where)) {}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string clipped(std::string_view text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace syncopate::experiments::yaml
