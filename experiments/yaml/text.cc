#include "experiments/yaml/text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "experiments/yaml/error.h"

namespace syncopate::experiments::yaml {
namespace {

/// Bytes of the character that begins `text` in UTF-8; 0 if there is none (RFC 3629: neither
/// overlong, nor a surrogate, nor past U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
                     (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
  return wrong ? 0 : length;
}

}  // namespace

Where place_in(std::string_view text, std::size_t at, std::shared_ptr<const std::string> source) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_end = before.rfind('\n');
  const std::size_t begin = line_end == std::string_view::npos ? 0 : line_end + 1;
  return {std::move(source), static_cast<int>(std::ranges::count(before, '\n')) + 1,
          static_cast<int>(at - begin) + 1};
}

void normalise(std::string& text, const std::shared_ptr<const std::string>& source) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw ConfigError({source, 0, 0}, "is UTF-16, not UTF-8 text: save it as UTF-8");
  }
  std::size_t out = 0;
  bool indentation = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::string_view rest = std::string_view(text).substr(i);
    const auto fail = [&](std::string_view message) {
      throw ConfigError(place_in(std::string_view(text).substr(0, out), out, source), message);
    };
    if (c == '\r' && rest.starts_with("\r\n")) {
      ++i;
      continue;
    }
    if (c == '\r') fail("a carriage return alone: save the file with line ends LF or CRLF");
    if (c == '\t' && indentation) fail("a tab as indentation: YAML allows only spaces there");
    const std::size_t length = c == '\0' ? 0 : utf8_length(rest);
    if (length == 0) fail("a byte that is not UTF-8 text: save the file as UTF-8");
    indentation = c == '\n' || (indentation && c == ' ');
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(i), length,
                text.begin() + static_cast<std::ptrdiff_t>(out));
    i += length;
    out += length;
  }
  text.resize(out);
}

namespace {

/// Where the text in quotes that begins at `quote` ends, if it does on the same line.
std::optional<std::size_t> closing_quote(std::string_view text, std::size_t quote) {
  const char mark = text[quote];
  for (std::size_t i = quote + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (mark == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == mark) {
      if (mark == '"' || !text.substr(i + 1).starts_with('\'')) return i;
      ++i;  // '' stands for '
    }
  }
  return std::nullopt;
}

}  // namespace

bool closes_on_its_line(std::string_view text, std::size_t quote) {
  return closing_quote(text, quote).has_value();
}

std::optional<std::size_t> find_open_quote(std::string_view text) {
  bool begins = true;  // whether a value or key may begin here
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n')) {
      i = std::min(text.find('\n', i), text.size());
      begins = true;
    } else if ((c == '"' || c == '\'') && begins) {
      const auto end = closing_quote(text, i);
      if (!end) return i;
      i = *end;
      begins = false;
    } else if (c != ' ') {
      begins = std::string_view("\n:-,[{").find(c) != std::string_view::npos;
    }
  }
  return std::nullopt;
}

}  // namespace syncopate::experiments::yaml
