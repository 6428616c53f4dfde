// Times of operations without tracing: a timing event before and one behind each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/device_clock.h"
#include "backend/cuda/event.h"
#include "backend/runtime/timeline.h"

namespace syncopate::cuda {

/// Stamps of the operations that one host puts into its device.
///
/// An operation starts when its stream has come to it: the wait for free SMs or a free copy engine
/// counts as part of it. Each pair of events costs the host about half a microsecond.
///
/// Events are taken from a pool and given back when their times are read, which resolve_one() does
/// for the oldest operation; a host calls it while it would wait for the device anyway. Should the
/// pool run empty, all that is done is read at once, and if nothing is the pool grows: it is
/// bounded by what is in flight between two waits.
///
/// Not thread-safe. The device must be the current one, except in convert().
class Stamps {
 public:
  struct Pair {
    cudaEvent_t start = nullptr;
    cudaEvent_t end = nullptr;
  };

  Stamps();

  /// Where the host's operations are; resolved times are kept there.
  void attach(runtime::Log<runtime::Operation>& operations) { operations_ = &operations; }

  /// Before the run. The device must be idle.
  void open() { clock_.open(); }

  /// Brackets the enqueueing of operation `operation` (an index) into `native`, the stream
  /// `stream`.
  Pair begin(cudaStream_t native);
  void end(const Pair& pair, cudaStream_t native, std::uint32_t operation, runtime::Stream stream);

  /// Reads the times of the oldest pending operation. False if there is none or it is not done.
  bool resolve_one();
  /// Whether the times of all operations before `operation` are read.
  bool resolved_before(std::uint32_t operation) const {
    return next_ == pending_.size() || pending_[next_].operation >= operation;
  }
  /// After the run, the device idle: reads all times left and ties the clocks again.
  void close();
  /// Turns the times in `operations` into nanoseconds since `origin`, a time of steady_now().
  void convert(std::span<runtime::Operation> operations, runtime::Nanos origin) const;

  /// Events made so far.
  std::size_t pool_size() const { return pool_.size(); }

 private:
  struct Pending {
    Pair pair;
    std::uint32_t operation = 0;
    std::uint32_t stream = 0;
  };

  EventPool pool_;
  DeviceClock clock_;
  runtime::Log<runtime::Operation>* operations_ = nullptr;
  std::vector<Pending> pending_;  // from next_ on, in order of enqueueing
  std::size_t next_ = 0;
  std::vector<runtime::Nanos> stream_end_;  // by stream: end of its last resolved operation
};

}  // namespace syncopate::cuda
