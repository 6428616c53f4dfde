// The linear layers: cuBLASLt, with algorithms chosen by timing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/device_weights.h"

namespace syncopate::models::llama {

/// y[rows, out] = x[rows, in] W^T, products summed in fp32. x is bf16, y bf16 or fp32; all
/// row-major and dense.
struct GemmShape {
  std::uint32_t rows = 0;
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  bool fp32_out = false;
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;
};

struct GemmOptions {
  /// A row's bits do not depend on the number of rows, nor on its place: rows are computed in
  /// blocks of Gemm::kInvariantRows, all by one algorithm. `rows` must be multiples of it.
  bool invariant = false;
  /// Where chosen algorithms are kept, by device, library version and shape (gemm_cache.h). What
  /// is missing there is added. Empty: nothing is kept.
  std::filesystem::path cache;
};

/// What tune() did.
struct GemmTuning {
  std::size_t timed = 0;  ///< Shapes whose algorithms were timed; the others were known.
  /// Why the choices could not be kept, for a message: the next start takes as long as this one.
  /// Empty: they are kept, or were not to be.
  std::string cache_problem;
};

/// enqueue() is safe from any thread once tune() is done; the two scratch spaces of concurrent
/// calls must differ.
class Gemm {
 public:
  static constexpr std::uint32_t kInvariantRows = 64;
  static constexpr std::size_t kScratchBytes = std::size_t{32} << 20;
  static constexpr std::uint32_t kAlignment = 16;  ///< Of x, y and scratch, in bytes.

  /// For the current device. Throws CudaError and CublasError.
  explicit Gemm(GemmOptions options);
  ~Gemm();

  /// Chooses an algorithm for each shape, before any is enqueued; shapes known already cost
  /// nothing. `weights` are the matrices that a step goes through, at multiples of 256 bytes: those
  /// of a shape are timed one after the other, so that none is found in the cache. Each shape needs
  /// one at least. Waits for the device, and takes memory for a while: kScratchBytes, x, y, and
  /// three times the device's cache. Nothing is timed in invariant mode: the library's own choice
  /// is taken. Throws UsageError, CudaError, CublasError, and UnavailableError for want of memory.
  GemmTuning tune(std::span<const GemmShape> shapes, std::span<const DeviceMatrix> weights);

  /// Enqueues one product; `y` is Bf16* or float* as the shape says. May be captured. Its kernels
  /// do not wait on grid dependencies, so what comes before must not be followed by a
  /// programmatic launch of it. `scratch` has kScratchBytes. Allocates nothing. Throws UsageError
  /// for a shape that was not tuned, and CublasError.
  void enqueue(cudaStream_t stream, const DeviceMatrix& weights, const Bf16* x, std::uint32_t rows,
               void* y, bool fp32_out, std::byte* scratch) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace syncopate::models::llama
