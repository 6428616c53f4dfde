#include "experiments/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace syncopate::experiments::cli {
namespace {

constexpr std::size_t kDefaultWidth = 100;
constexpr std::size_t kMostWidth = 10'000;  // COLUMNS says what it likes

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::size_t output_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view columns = variable("COLUMNS");
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(columns.begin(), columns.end(), width);
  const bool valid = error == std::errc() && end == columns.end() && width > 0;
  return valid ? std::min(width, kMostWidth) : kDefaultWidth;
}

bool output_takes_colour() { return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty(); }

}  // namespace syncopate::experiments::cli
