#include "backend/cuda/stamps.h"

#include <algorithm>

#include "backend/cuda/call.h"

namespace syncopate::cuda {
namespace {

bool runs_on_device(runtime::OperationKind kind) {
  using enum runtime::OperationKind;
  switch (kind) {
    case kKernel:
    case kCopyH2D:
    case kCopyD2H:
    case kCopyD2D:
    case kCopyPeer:
    case kGraph:
    case kGraphNode:
      return true;
    case kHostSpan:
    case kHostBlock:
      return false;
  }
  return false;
}

}  // namespace

Stamps::Stamps() : clock_(pool_) {
  pool_.grow();
  pending_.reserve(EventPool::kBlock);
}

Stamps::Pair Stamps::begin(cudaStream_t native) {
  const auto take = [this] {
    if (pool_.empty()) {
      while (resolve_one()) {
      }
      if (pool_.empty()) pool_.grow();
    }
    return pool_.take();
  };
  Pair pair;
  pair.start = take();
  pair.end = take();
  SYNCOPATE_CUDA_CALL(cudaEventRecord(pair.start, native));
  return pair;
}

void Stamps::end(const Pair& pair, cudaStream_t native, std::uint32_t operation,
                 runtime::Stream stream) {
  SYNCOPATE_CUDA_CALL(cudaEventRecord(pair.end, native));
  if (stream_end_.size() <= stream.id) stream_end_.resize(stream.id + 1, 0);
  if (pending_.size() == pending_.capacity() && next_ > 0) {
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
  }
  pending_.push_back({pair, operation, stream.id});
}

bool Stamps::resolve_one() {
  if (next_ == pending_.size()) return false;
  const Pending& oldest = pending_[next_];
  if (!completed(oldest.pair.end)) return false;

  // A stream runs its operations one by one; rounding must not say otherwise.
  runtime::Nanos& stream_end = stream_end_[oldest.stream];
  const runtime::Nanos start = std::max(clock_.since_open(oldest.pair.start), stream_end);
  const runtime::Nanos end = std::max(clock_.since_open(oldest.pair.end), start);
  stream_end = end;
  (*operations_)[oldest.operation].start = start;
  (*operations_)[oldest.operation].end = end;

  pool_.give_back(oldest.pair.start);
  pool_.give_back(clock_.rebase(oldest.pair.end, end));
  if (++next_ == pending_.size()) {
    pending_.clear();
    next_ = 0;
  }
  return true;
}

void Stamps::close() {
  while (resolve_one()) {
  }
  clock_.close();
}

void Stamps::convert(std::span<runtime::Operation> operations, runtime::Nanos origin) const {
  for (runtime::Operation& operation : operations) {
    if (!runs_on_device(operation.kind) || operation.start == runtime::kUnknownTime) continue;
    operation.start = clock_.to_host(operation.start) - origin;
    operation.end = clock_.to_host(operation.end) - origin;
  }
}

}  // namespace syncopate::cuda
