// CUDA graphs, from capture to something that can be launched.
#pragma once

#include "backend/cuda/call.h"
#include "backend/cuda/owned.h"

namespace syncopate::cuda {

using OwnedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using OwnedGraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Starts capture on `origin`. Relaxed: what must not be called during a capture the front end has
/// refused already, and a library inside it may need to allocate.
inline void begin_capture(cudaStream_t origin) {
  SYNCOPATE_CUDA_CALL(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed));
}

inline OwnedGraph end_capture(cudaStream_t origin) {
  cudaGraph_t graph = nullptr;
  SYNCOPATE_CUDA_CALL(cudaStreamEndCapture(origin, &graph));
  return OwnedGraph(graph);
}

/// Leaves the capture that `origin` is in, whatever its state, and drops what it caught.
inline void drop_capture(cudaStream_t origin) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(origin, &graph) != cudaSuccess) cudaGetLastError();
  OwnedGraph dropped(graph);
}

/// An executable of `graph`, already on the device behind the work of `stream`, so that the first
/// launch costs what later ones do.
inline OwnedGraphExec instantiate(const OwnedGraph& graph, cudaStream_t stream) {
  cudaGraphExec_t exec = nullptr;
  SYNCOPATE_CUDA_CALL(cudaGraphInstantiate(&exec, graph.get(), 0));
  OwnedGraphExec owned(exec);
  SYNCOPATE_CUDA_CALL(cudaGraphUpload(exec, stream));
  return owned;
}

}  // namespace syncopate::cuda
