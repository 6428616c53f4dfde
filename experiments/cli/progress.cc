#include "experiments/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace syncopate::experiments::cli {

ProgressLine::ProgressLine(std::string name)
    : name_(std::move(name)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

bool ProgressLine::is_due() {
  if (!terminal_) return false;
  const Clock::time_point now = Clock::now();
  if (now < next_) return false;
  next_ = now + std::chrono::milliseconds(250);
  return true;
}

void ProgressLine::show(std::string_view text) {
  shown_ = true;
  fmt::print(stderr, "\r\033[K{}: {}", name_, text);
  std::fflush(stderr);
}

void ProgressLine::update(std::string_view text) {
  if (is_due()) show(text);
}

void ProgressLine::update(const Progress& progress) {
  if (!is_due()) return;
  show(describe(progress, std::chrono::duration<double>(Clock::now() - start_).count()));
}

std::string describe(const Progress& progress, double seconds) {
  if (progress.done == 0 || progress.most == 0 || seconds <= 0) {
    return fmt::format("{} steps", progress.steps);
  }
  const double share = static_cast<double>(progress.done) / static_cast<double>(progress.most);
  return fmt::format("{} steps, {:.0f} steps/s, {:.0f} % of {}, {:.0f} s left", progress.steps,
                     static_cast<double>(progress.steps) / seconds, 100 * share, progress.unit,
                     seconds * (1 - share) / share);
}

}  // namespace syncopate::experiments::cli
