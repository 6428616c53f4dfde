// Where the figures of a hardware profile come from, for those that `syncopate calibrate` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/config/model_config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

/// How well fitted terms give back the durations that they were fitted to: relative errors.
struct FitQuality {
  std::uint64_t samples = 0;
  double median_error_pct = 0;
  double p95_error_pct = 0;
};

template <class V>
void describe(V& v, FitQuality& c) {
  using yaml::required;
  v(required("samples", "Durations fitted to, each a median"), c.samples);
  v(required("median_error_pct", "Half of them are nearer than this").at_least(0),
    c.median_error_pct);
  v(required("p95_error_pct", "95 % of them are nearer than this").at_least(0), c.p95_error_pct);
}

/// Of each kind of duration that has terms.
struct ProfileFits {
  FitQuality prepare, update, forward, carry, h2d, d2h, d2d, pageable;
};

template <class V>
void describe(V& v, ProfileFits& c) {
  using yaml::required;
  v(required("prepare", "Of spans.prepare"), c.prepare);
  v(required("update", "Of spans.update"), c.update);
  v(required("forward", "Of kernels.forward"), c.forward);
  v(required("carry", "Of kernels.carry"), c.carry);
  v(required("h2d", "Of h2d"), c.h2d);
  v(required("d2h", "Of d2h"), c.d2h);
  v(required("d2d", "Of d2d"), c.d2d);
  v(required("pageable", "Of pageable"), c.pageable);
}

/// Who measured what, where and when.
struct Provenance {
  std::string command;
  std::string program;
  std::string revision;
  std::string time;
  std::string system;
  std::string processor;
  std::uint32_t processor_threads = 0;
  std::string runtime;
  ModelConfig model;
  std::vector<std::string> assumed;
  ProfileFits fits;
};

template <class V>
void describe(V& v, Provenance& c) {
  using yaml::key, yaml::required;
  v(required("command", "What wrote the file"), c.command);
  v(required("program", "Name and version"), c.program);
  v(required("revision", "Of its source"), c.revision);
  v(required("time", "When, in UTC"), c.time);
  v(required("system", "Operating system"), c.system);
  v(required("processor", "The host's"), c.processor);
  v(required("processor_threads", "Of the host"), c.processor_threads);
  v(required("runtime", "What was measured"), c.runtime);
  v(required("model", "Whose kernels were measured"), c.model);
  v(key("assumed", "Keys that were not measured"), c.assumed);
  v(required("fits", "Relative errors of the fitted terms"), c.fits);
}

/// The largest steps that a profile's terms were measured with: beyond them they are a guess. The
/// smallest are one row and one token.
struct ProfileRanges {
  std::uint64_t rows = 0;
  std::uint64_t tokens = 0;
  std::uint64_t kv_tokens = 0;
};

template <class V>
void describe(V& v, ProfileRanges& c) {
  using yaml::required;
  v(required("rows", "Most requests in a step"), c.rows);
  v(required("tokens", "Most tokens computed in a step"), c.tokens);
  v(required("kv_tokens", "Most KV entries read in a step"), c.kv_tokens);
}

}  // namespace syncopate::experiments
