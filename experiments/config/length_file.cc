#include "experiments/config/length_file.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/config/batching_config.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments {

std::vector<std::uint32_t> read_lengths(const std::filesystem::path& file) {
  const auto name = std::make_shared<const std::string>(file.string());
  const auto fail = [&name](int line, std::string_view what) {
    throw yaml::ConfigError({name, line, line == 0 ? 0 : 1}, what);
  };
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(0, "cannot be read");
  std::vector<std::uint32_t> lengths;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.ends_with('\r')) text.pop_back();
    if (text.empty()) continue;
    std::uint32_t length = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, length);
    if (error != std::errc() || stop != end || length < 1 || length > kMaxTokens) {
      fail(line, fmt::format("'{}' is no number of tokens, from 1 to {}", yaml::clipped(text),
                             static_cast<std::uint32_t>(kMaxTokens)));
    }
    lengths.push_back(length);
  }
  if (in.bad()) fail(0, "cannot be read to its end");
  if (lengths.empty()) fail(0, "has no length");
  return lengths;
}

}  // namespace syncopate::experiments
