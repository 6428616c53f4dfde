// Distributions as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/percentiles.h"

namespace syncopate::experiments {

/// {mean, p50, p90, p99}, each divided by `unit`; null when there are no values.
template <class T>
nlohmann::ordered_json to_json(const analysis::Distribution<T>& values, double unit = 1) {
  if (values.count == 0) return nullptr;
  return {{"mean", values.mean / unit},
          {"p50", static_cast<double>(values.p50) / unit},
          {"p90", static_cast<double>(values.p90) / unit},
          {"p99", static_cast<double>(values.p99) / unit}};
}

}  // namespace syncopate::experiments
