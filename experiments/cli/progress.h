// A line on the terminal that says how far a run has come.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "experiments/run/run.h"

namespace syncopate::experiments::cli {

/// Shows nothing unless stderr is a terminal and the run has taken two seconds; then one line that
/// is written over a few times a second, and taken away at the end.
class ProgressLine {
 public:
  explicit ProgressLine(std::string name);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows describe(), when the line is due.
  void update(const Progress& progress);
  /// Shows `text`, when the line is due.
  void update(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due();
  void show(std::string_view text);

  std::string name_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(2);
};

/// "1,234 steps, 56 steps/s, 78 % of tokens, 12 s left".
std::string describe(const Progress& progress, double seconds);

}  // namespace syncopate::experiments::cli
