#include <cuda_runtime_api.h>

#include "backend/models/batch_view.h"
#include "backend/models/cuda/bodies.h"

namespace syncopate::models {
namespace {

constexpr unsigned kThreads = 256;

struct CarryArgs {
  const BatchLayout* layout;
  runtime::Buffer inputs;
  runtime::Buffer previous_outputs;
};

// One thread a row. `ids` is the batch's own, writable.
__global__ void carry(BatchView batch, std::int32_t* ids, const std::int32_t* previous) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= batch.rows()) return;
  const std::int32_t from = batch.carry(row);
  const std::uint32_t end = batch.row_end(row);
  if (from >= 0 && end > batch.row_start(row)) ids[end - 1] = previous[from];
}

void enqueue_carry(runtime::Exec& exec, const CarryArgs& args) {
  auto* block = exec.data<std::int32_t>(args.inputs);
  // For the most rows that there can be: a graph replays the launch for every batch.
  const unsigned blocks = (args.layout->limits().rows + kThreads - 1) / kThreads;
  carry<<<blocks, kThreads, 0, static_cast<cudaStream_t>(exec.native())>>>(
      BatchView(block, *args.layout), block + args.layout->ids(),
      exec.data<const std::int32_t>(args.previous_outputs));
}

}  // namespace

runtime::Body cuda_carry_body(const BatchLayout* layout, runtime::Buffer inputs,
                              runtime::Buffer previous_outputs) {
  return runtime::Body::of<enqueue_carry>(CarryArgs{layout, inputs, previous_outputs});
}

}  // namespace syncopate::models
