#include "backend/models/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "backend/models/row_sampling.h"
#include "backend/runtime/error.h"

namespace syncopate::models {
namespace {

constexpr double kOne = RowSampling::kOne;

[[noreturn]] void refuse(const char* name, const char* range, double value) {
  std::ostringstream text;
  text << "sampling: " << name << " must be " << range << ", not " << value;
  throw runtime::UsageError(text.str());
}

// `value` in steps of 1/65536; something stays something.
std::int32_t fixed(double value) {
  const auto steps = static_cast<std::int32_t>(std::lround(value * kOne));
  return value > 0 ? std::max(steps, 1) : steps;
}

}  // namespace

SamplingWords encode(const Sampling& s) {
  // Written so that NaN is refused too.
  if (!(s.temperature >= 0 && s.temperature <= RowSampling::kMaxTemperature / kOne)) {
    refuse("temperature", "from 0 to 100", s.temperature);
  }
  if (!(s.top_p > 0 && s.top_p <= 1)) refuse("top_p", "above 0 and at most 1", s.top_p);
  if (!(s.min_p >= 0 && s.min_p <= 1)) refuse("min_p", "from 0 to 1", s.min_p);
  if (!(s.repetition_penalty > 0 && s.repetition_penalty <= RowSampling::kMaxPenalty / kOne)) {
    refuse("repetition_penalty", "above 0 and at most 100", s.repetition_penalty);
  }
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr auto kFixedOne = static_cast<std::int32_t>(RowSampling::kOne);
  return {fixed(s.temperature),
          static_cast<std::int32_t>(std::min(s.top_k, kMost)),
          kFixedOne - fixed(s.top_p),
          fixed(s.min_p),
          fixed(s.repetition_penalty) - kFixedOne,
          static_cast<std::int32_t>(static_cast<std::uint32_t>(s.seed)),
          static_cast<std::int32_t>(static_cast<std::uint32_t>(s.seed >> 32)),
          0};
}

}  // namespace syncopate::models
