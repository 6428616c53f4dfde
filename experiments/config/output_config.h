// The `output` section: what a run records.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

/// Of any program. A program with more to write extends it.
struct OutputConfig {
  bool log = true;
  bool tables = true;
  bool trace = false;
  bool kernels = false;
  std::optional<std::array<std::uint32_t, 2>> window;  ///< Of the trace: first and last step.
};

inline constexpr double kMaxStep = INT32_MAX;

template <class V>
void describe_log(V& v, OutputConfig& c) {
  v(yaml::key("log", "Record calls and accesses: for check, races and figures"), c.log);
  v(yaml::key("tables", "Write steps.csv and requests.csv, or samples.csv"), c.tables);
}

template <class V>
void describe_trace(V& v, OutputConfig& c) {
  using yaml::key;
  v(key("trace", "Write a trace for Perfetto and other viewers (needs log)"), c.trace);
  v(key("kernels",
        "cuda only: record each kernel and CUDA call for the trace (needs trace); slows the host"),
    c.kernels);
  v(key("window", "Steps in the trace: [first, last], both included; null: all").range(0, kMaxStep),
    c.window);
}

template <class V>
void describe(V& v, OutputConfig& c) {
  describe_log(v, c);
  describe_trace(v, c);
}

}  // namespace syncopate::experiments
