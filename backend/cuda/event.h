// CUDA events, and a pool of those that carry times.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/owned.h"

namespace syncopate::cuda {

using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

enum class EventUse { kOrder, kTiming };

/// An event of the current device. Those for order alone take no time stamp, which makes them
/// cheaper to record and to wait for.
inline OwnedEvent make_event(EventUse use) {
  cudaEvent_t event = nullptr;
  SYNCOPATE_CUDA_CALL(cudaEventCreateWithFlags(
      &event, use == EventUse::kOrder ? cudaEventDisableTiming : cudaEventDefault));
  return OwnedEvent(event);
}

/// Whether all that the event's newest record stands behind is done; true if never recorded.
inline bool completed(cudaEvent_t event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status != cudaErrorNotReady) {
    check_call(status, "cudaEventQuery(event)", __FILE__, __LINE__);
    return true;
  }
  cudaGetLastError();  // "not ready" counts as an error of this thread until it is read
  return false;
}

/// Timing events of one device, handed out and given back. Grows by blocks, never shrinks.
class EventPool {
 public:
  static constexpr std::size_t kBlock = 512;

  bool empty() const { return free_.empty(); }
  /// Adds a block of events of the current device.
  void grow() {
    free_.reserve(events_.size() + kBlock);
    for (std::size_t i = 0; i < kBlock; ++i) {
      events_.push_back(make_event(EventUse::kTiming));
      free_.push_back(events_.back().get());
    }
  }
  /// The pool must not be empty. The event stays the pool's.
  cudaEvent_t take() {
    const cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }
  void give_back(cudaEvent_t event) { free_.push_back(event); }
  /// Events made so far, in use or not.
  std::size_t size() const { return events_.size(); }

 private:
  std::vector<OwnedEvent> events_;
  std::vector<cudaEvent_t> free_;
};

}  // namespace syncopate::cuda
