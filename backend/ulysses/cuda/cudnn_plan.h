// One call of cuDNN's attention: what it computes, and the plan that does.
#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstdint>
#include <memory>

#include "backend/ulysses/cuda/plain_attention.h"

namespace syncopate::ulysses::cuda {

/// The sizes that a plan is for. Strides are those of dense bands: tensors are views of the band's,
/// [batch, tokens, heads, dim] with `band_…_heads` heads a token, of which the call takes some.
struct CudnnShape {
  std::uint32_t batch = 0, tokens = 0, head_dim = 0;
  std::uint32_t query_heads = 0, kv_heads = 0;
  std::uint32_t band_query_heads = 0, band_kv_heads = 0;
  ElementType type = ElementType::kBf16;
  bool causal = false;
  friend auto operator<=>(const CudnnShape&, const CudnnShape&) = default;
};

/// cuDNN's handle of one GPU. Not thread-safe.
class CudnnHandle {
 public:
  /// Of the current device. Throws runtime::UnavailableError.
  CudnnHandle();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  void* native() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

/// A plan, built for the handle's GPU. Not thread-safe.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual std::uint64_t scratch_bytes() const = 0;
  /// `scratch` has scratch_bytes(). Throws runtime::OperationError.
  virtual void enqueue(const DeviceTensors& tensors, std::byte* scratch, cudaStream_t stream) = 0;
};

/// Takes a tenth of a second or so. Throws UlyssesError kUnsupported where cuDNN has no kernel.
std::unique_ptr<CudnnPlan> make_cudnn_plan(const CudnnHandle& handle, const CudnnShape& shape);

}  // namespace syncopate::ulysses::cuda
