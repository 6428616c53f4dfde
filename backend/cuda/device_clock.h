// One device's clock, and where it stands against the host's.
#pragma once

#include "backend/cuda/event.h"
#include "backend/cuda/stream.h"
#include "backend/runtime/handles.h"

namespace syncopate::cuda {

/// The host's clock: std::chrono::steady_clock in nanoseconds.
runtime::Nanos steady_now();

/// Turns timing events of one device into times of the host's clock.
///
/// Between two events CUDA gives a float of milliseconds, which holds 8 ns at 100 ms but only 4 us
/// at a minute. So times are chained: each is taken from a base that is at most 100 ms older
/// than the event before it, and the base moves along. A gap of 10 s without operations costs
/// 0.5 us.
///
/// The two clocks are tied where the host waits for an event on an idle device and takes the middle
/// of the shortest of several such round trips: an error of some 3 us, the same for all times. They
/// are tied again at the end, and a run of a second or more has their difference in rate (parts per
/// million, so hundreds of microseconds in a minute) taken out.
///
/// Not thread-safe. The device must be the current one, except in to_host().
class DeviceClock {
 public:
  /// `pool` gives the events and must outlive the clock.
  explicit DeviceClock(EventPool& pool);

  /// Ties the clocks at the beginning of a run: time 0 of the device. The device must be idle.
  void open();
  /// Ties them at its end.
  void close();

  /// Time of a completed event in nanoseconds since open(). Feed events in about the order of
  /// their completion; ones that are already older than the base are fine.
  runtime::Nanos since_open(cudaEvent_t event) const;
  /// Makes `event` the base if the present one is getting old, and gives back the one that is no
  /// longer needed: `event`, or the former base.
  cudaEvent_t rebase(cudaEvent_t event, runtime::Nanos its_time);

  /// steady_now() at device time `since_open`.
  runtime::Nanos to_host(runtime::Nanos since_open) const;

 private:
  struct Tie {
    cudaEvent_t event = nullptr;
    runtime::Nanos host = 0;
  };
  Tie tie();

  EventPool& pool_;
  OwnedStream stream_;  // not ordered against any other
  cudaEvent_t base_ = nullptr;
  runtime::Nanos base_time_ = 0;
  runtime::Nanos host_at_open_ = 0;
  double rate_ = 1.0;  // host nanoseconds in one of the device's
};

}  // namespace syncopate::cuda
