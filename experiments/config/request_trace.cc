#include "experiments/config/request_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "experiments/config/batching_config.h"
#include "experiments/units.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

enum class Clock : std::uint8_t { kSeconds, kDate };

struct Layout {
  std::string_view head;
  Clock clock;
  std::size_t columns, arrival, prompt, output;
};

constexpr std::array kLayouts = {
    Layout{"arrival_s,prompt_tokens,output_tokens", Clock::kSeconds, 3, 0, 1, 2},
    Layout{"TIMESTAMP,ContextTokens,GeneratedTokens", Clock::kDate, 3, 0, 1, 2},
    Layout{"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", Clock::kSeconds,
           6, 0, 2, 3}};

/// What is wrong with a field; the reader says where.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A number's digits with what follows the point, in nanoseconds: no rounding by a double.
Nanos nanos_of(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string_view part = point == std::string_view::npos ? "" : text.substr(point + 1);
  constexpr std::uint64_t kMostSeconds = 4'000'000'000;
  std::uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), seconds);
  const bool digits = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  if (error != std::errc() || end != whole.data() + whole.size() || !digits ||
      seconds > kMostSeconds) {
    throw Wrong(
        fmt::format("'{}' is no time in seconds, from 0 to {}", yaml::clipped(text), kMostSeconds));
  }
  Nanos nanos = 0;
  for (int place = 0; place < 9; ++place) {
    const bool given = !part.empty();
    nanos = 10 * nanos + (given ? part.front() - '0' : 0);
    if (given) part.remove_prefix(1);
  }
  return static_cast<Nanos>(seconds) * 1'000'000'000 + nanos;
}

int number_at(std::string_view text, std::size_t from, std::size_t length) {
  int number = -1;
  const std::string_view digits = from > text.size() ? "" : text.substr(from, length);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool all = error == std::errc() && digits.size() == length &&
                   end == digits.data() + digits.size() && number >= 0;
  return all ? number : -1;
}

/// "2023-11-16 18:17:03.9799600"; a zone behind it is the same for all rows, and left out.
Nanos nanos_of_date(std::string_view text) {
  namespace chrono = std::chrono;
  const Wrong wrong(
      fmt::format("'{}' is no time such as 2023-11-16 18:17:03.9799600", yaml::clipped(text)));
  const auto separated = [&](std::size_t at, char by) {
    return at < text.size() && text[at] == by;
  };
  if (!separated(4, '-') || !separated(7, '-') || !(separated(10, ' ') || separated(10, 'T')) ||
      !separated(13, ':') || !separated(16, ':')) {
    throw wrong;
  }
  const chrono::year_month_day date{chrono::year(number_at(text, 0, 4)),
                                    chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                                    chrono::day(static_cast<unsigned>(number_at(text, 8, 2)))};
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  std::string_view seconds = text.substr(17);
  seconds = seconds.substr(0, seconds.find_first_not_of("0123456789."));
  if (!date.ok() || number_at(text, 0, 4) < 1970 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59) {
    throw wrong;
  }
  const auto days = chrono::sys_days(date).time_since_epoch().count();
  return (Nanos{days} * 86'400 + hour * 3'600 + minute * 60) * 1'000'000'000 + nanos_of(seconds);
}

std::uint32_t tokens_of(std::string_view text) {
  std::uint32_t tokens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error != std::errc() || end != text.data() + text.size() || tokens > kMaxTokens) {
    throw Wrong(fmt::format("'{}' is no number of tokens, from 0 to {}", yaml::clipped(text),
                            static_cast<std::uint32_t>(kMaxTokens)));
  }
  return tokens;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file)
      : name_(std::make_shared<const std::string>(file.string())), in_(file, std::ios::binary) {
    if (!in_) fail(0, 0, "cannot be read");
  }

  std::vector<TracedRequest> read() {
    std::string line;
    if (!next(line)) fail(0, 0, "is empty: a trace begins with the names of its columns");
    const auto* layout = std::ranges::find(kLayouts, std::string_view(line), &Layout::head);
    if (layout == kLayouts.end()) {
      fail(1, 1,
           fmt::format("'{}' are no trace's columns. Known: {}; {}; {}", yaml::clipped(line),
                       kLayouts[0].head, kLayouts[1].head, kLayouts[2].head));
    }
    std::vector<TracedRequest> requests;
    while (next(line)) {
      if (!line.empty()) requests.push_back(row(line, *layout));
    }
    if (requests.empty()) fail(0, 0, "has no request");
    Nanos first = requests.front().arrival;
    for (const TracedRequest& request : requests) first = std::min(first, request.arrival);
    for (TracedRequest& request : requests) request.arrival -= first;
    return requests;
  }

 private:
  [[noreturn]] void fail(int line, int column, std::string_view what) const {
    throw yaml::ConfigError({name_, line, column}, what);
  }

  bool next(std::string& line) {
    if (!std::getline(in_, line)) {
      if (in_.bad()) fail(line_, 1, "cannot be read any further");
      return false;
    }
    ++line_;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }

  TracedRequest row(std::string_view line, const Layout& layout) const {
    std::array<std::string_view, 6> fields;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin <= line.size(); ++count) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      if (count < fields.size()) fields[count] = line.substr(begin, end - begin);
      begin = end + 1;
    }
    if (count != layout.columns) {
      fail(line_, 1, fmt::format("has {} columns, and there are {}", count, layout.columns));
    }
    const auto field = [&](std::size_t column, const auto& read) {
      try {
        return read(fields[column]);
      } catch (const Wrong& wrong) {
        fail(line_, static_cast<int>(fields[column].data() - line.data()) + 1, wrong.what());
      }
    };
    TracedRequest request;
    request.arrival =
        field(layout.arrival, layout.clock == Clock::kDate ? nanos_of_date : nanos_of);
    request.prompt_tokens = field(layout.prompt, tokens_of);
    request.output_tokens = field(layout.output, tokens_of);
    return request;
  }

  std::shared_ptr<const std::string> name_;
  std::ifstream in_;
  int line_ = 0;
};

}  // namespace

std::vector<TracedRequest> read_request_trace(const std::filesystem::path& file) {
  return Reader(file).read();
}

}  // namespace syncopate::experiments
