// CUDA streams.
#pragma once

#include "backend/cuda/call.h"
#include "backend/cuda/owned.h"
#include "backend/runtime/handles.h"

namespace syncopate::cuda {

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;

/// A stream of the current device. The legacy default stream is not made but named
/// (cudaStreamLegacy), so `kind` is one of the other two.
inline OwnedStream make_stream(runtime::StreamKind kind) {
  const bool blocking = kind == runtime::StreamKind::kBlocking;
  cudaStream_t stream = nullptr;
  SYNCOPATE_CUDA_CALL(
      cudaStreamCreateWithFlags(&stream, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
  return OwnedStream(stream);
}

}  // namespace syncopate::cuda
