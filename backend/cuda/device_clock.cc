#include "backend/cuda/device_clock.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "backend/cuda/call.h"

namespace syncopate::cuda {
namespace {

using runtime::Nanos;

constexpr int kRoundTrips = 16;
constexpr Nanos kBaseAge = 100'000'000;
// The ties err by microseconds: over less than this they would distort the rate more than the
// clocks differ in it.
constexpr Nanos kShortestForRate = 1'000'000'000;

cudaEvent_t take(EventPool& pool) {
  if (pool.empty()) pool.grow();
  return pool.take();
}

}  // namespace

Nanos steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

DeviceClock::DeviceClock(EventPool& pool)
    : pool_(pool), stream_(make_stream(runtime::StreamKind::kNonBlocking)) {}

DeviceClock::Tie DeviceClock::tie() {
  Tie best{take(pool_), 0};
  cudaEvent_t spare = take(pool_);
  Nanos shortest = INT64_MAX;
  for (int i = 0; i < kRoundTrips; ++i) {
    const Nanos before = steady_now();
    SYNCOPATE_CUDA_CALL(cudaEventRecord(spare, stream_.get()));
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(spare));
    const Nanos after = steady_now();
    if (after - before < shortest) {
      shortest = after - before;
      best.host = before + shortest / 2;
      std::swap(best.event, spare);
    }
  }
  pool_.give_back(spare);
  return best;
}

void DeviceClock::open() {
  const Tie first = tie();
  base_ = first.event;
  base_time_ = 0;
  host_at_open_ = first.host;
  rate_ = 1.0;
}

void DeviceClock::close() {
  const Tie last = tie();
  const Nanos device = since_open(last.event);
  if (device >= kShortestForRate) {
    rate_ = static_cast<double>(last.host - host_at_open_) / static_cast<double>(device);
  }
  pool_.give_back(last.event);
}

Nanos DeviceClock::since_open(cudaEvent_t event) const {
  float milliseconds = 0;
  SYNCOPATE_CUDA_CALL(cudaEventElapsedTime(&milliseconds, base_, event));
  return base_time_ + std::llround(static_cast<double>(milliseconds) * 1e6);
}

cudaEvent_t DeviceClock::rebase(cudaEvent_t event, Nanos its_time) {
  if (its_time - base_time_ < kBaseAge) return event;
  base_time_ = its_time;
  return std::exchange(base_, event);
}

Nanos DeviceClock::to_host(Nanos since_open) const {
  return host_at_open_ + std::llround(static_cast<double>(since_open) * rate_);
}

}  // namespace syncopate::cuda
