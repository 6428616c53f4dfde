#include <string>

#include "backend/models/llama/cuda/bf16x8.cuh"
#include "backend/models/llama/cuda/early_launch.cuh"
#include "backend/models/llama/cuda/pointwise.h"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kThreads = 256;

// One thread a vector; the grid is (vectors of a token, tokens).
__global__ void __launch_bounds__(kThreads)
    swiglu(std::uint32_t intermediate, const Bf16* gate_up, Bf16* out) {
  const std::uint32_t at = (blockIdx.x * kThreads + threadIdx.x) * kVector;
  wait_for_earlier_kernels();
  if (at >= intermediate) return;
  const std::size_t token = blockIdx.y;
  const Bf16* const gates = gate_up + token * 2 * intermediate + at;
  const Float8 gate = widened(load(gates));
  Float8 x = widened(load(gates + intermediate));
  for (unsigned i = 0; i < kVector; ++i) {
    // The quick division is within 2 units in the last place of fp32, and 0 where the divisor is
    // beyond 2^126: there the quotient is 0 in bf16 as well.
    x.v[i] *= __fdividef(gate.v[i], 1.0f + expf(-gate.v[i]));
  }
  store(out + token * intermediate + at, rounded(x));
}

}  // namespace

void enqueue_swiglu(cudaStream_t stream, std::uint32_t tokens, std::uint32_t intermediate,
                    const Bf16* gate_up, Bf16* out) {
  if (intermediate % kVector != 0) {
    throw runtime::UsageError("an intermediate size of " + std::to_string(intermediate) +
                              ": it must be a multiple of 8");
  }
  const dim3 grid((intermediate / kVector + kThreads - 1) / kThreads, tokens);
  launch_early(swiglu, grid, kThreads, 0, stream, intermediate, gate_up, out);
}

}  // namespace syncopate::models::llama
