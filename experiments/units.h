// Nanoseconds in the units that people read.
#pragma once

#include "backend/runtime/handles.h"

namespace syncopate::experiments {

// To divide by, not to multiply with an inverse: 1,500 ns are then 1.5 us in a file, to the digit.
inline constexpr double kNanosPerUs = 1e3;
inline constexpr double kNanosPerMs = 1e6;
inline constexpr double kNanosPerSecond = 1e9;

inline double microseconds(runtime::Nanos time) { return static_cast<double>(time) / kNanosPerUs; }
inline double milliseconds(runtime::Nanos time) { return static_cast<double>(time) / kNanosPerMs; }

}  // namespace syncopate::experiments
