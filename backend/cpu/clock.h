// Clock: nanoseconds since the run began.
#pragma once

#include <chrono>

#include "backend/runtime/handles.h"

namespace syncopate::cpu {

/// restart() comes before the threads that read the clock have anything to do.
class Clock {
 public:
  using Base = std::chrono::steady_clock;

  void restart() { epoch_ = Base::now(); }
  runtime::Nanos now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Base::now() - epoch_).count();
  }
  Base::time_point at(runtime::Nanos time) const { return epoch_ + std::chrono::nanoseconds(time); }

 private:
  Base::time_point epoch_ = Base::now();
};

}  // namespace syncopate::cpu
