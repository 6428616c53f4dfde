#include <cuda_runtime_api.h>

#include "backend/models/batch_view.h"
#include "backend/models/hash/choose.h"
#include "backend/models/hash/cuda/block_scores.cuh"
#include "backend/models/hash/cuda/body.h"
#include "backend/models/hash/hash_math.h"
#include "backend/models/history.h"

namespace syncopate::models::hash {
namespace {

constexpr unsigned kThreads = BlockScores::kThreads;
constexpr unsigned kWarp = 32;
constexpr std::uint32_t kTile = 4 * kThreads;

// Both kernels run one block a row, for the most rows that there can be: a graph replays them for
// every batch. They are two because a row may read entries that another row of the batch writes.

__global__ void __launch_bounds__(kThreads)
    write_kv(BatchView batch, std::uint32_t* kv, HistoryView history, std::uint32_t vocab) {
  const std::uint32_t row = blockIdx.x;
  if (row >= batch.rows()) return;
  const std::uint32_t end = batch.row_end(row);
  for (std::uint32_t token = batch.row_start(row) + threadIdx.x; token < end; token += kThreads) {
    const std::uint32_t position = batch.position(token);
    kv[batch.kv_entry(row, position)] = kv_entry(batch.id(token, vocab), position);
    if (history) history.write(row, token);
  }
}

// A candidate for the argmax, ordered by logit and then by the lower id.
__device__ unsigned long long candidate(std::uint32_t state, std::uint32_t id) {
  return static_cast<unsigned long long>(logit(state, id)) << 32 | (UINT32_MAX - id);
}

// Apart from the kernel, which should not pay for it where all rows are plain. All threads of the
// block call it and get the same id.
__device__ __noinline__ std::uint32_t choose(const RowSampling& sampling, std::uint32_t state,
                                             std::uint32_t vocab, const HistoryView& history,
                                             std::uint32_t row, std::uint32_t length) {
  __shared__ BlockScores::Memory memory;
  BlockScores scores(state, vocab, sampling.penalty, history, row, length, memory);
  return Chooser(scores, sampling).choose(random_bits(sampling.seed, length));
}

__global__ void __launch_bounds__(kThreads)
    sample(BatchView batch, const std::uint32_t* kv, HistoryView history, std::int32_t* next_id,
           std::uint32_t vocab, std::uint32_t seed) {
  __shared__ std::uint32_t tile[kTile];
  __shared__ std::uint32_t length;
  __shared__ RowSampling sampling;
  __shared__ std::uint32_t state;
  __shared__ unsigned long long best;
  const std::uint32_t row = blockIdx.x;

  // Read once for the block: in a racy run the inputs may change meanwhile, and threads that saw
  // different sizes would not meet at the barriers.
  constexpr std::uint32_t kNoRow = UINT32_MAX;
  if (threadIdx.x == 0) {
    length = row < batch.rows() ? batch.kv_length(row) : kNoRow;
    if (length != kNoRow) sampling = batch.sampling(row);
  }
  __syncthreads();
  if (length == kNoRow) return;

  // The state depends on order, so one thread folds it; all fetch the entries.
  std::uint32_t folded = seed;
  for (std::uint32_t begin = 0; begin < length; begin += kTile) {
    const std::uint32_t count = min(kTile, length - begin);
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      tile[i] = kv[batch.kv_entry(row, begin + i)];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (std::uint32_t i = 0; i < count; ++i) folded = fold(folded, tile[i]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    state = folded;
    best = 0;
  }
  __syncthreads();
  if (!sampling.plain()) {
    const std::uint32_t id = choose(sampling, state, vocab, history, row, length);
    if (threadIdx.x == 0) next_id[row] = static_cast<std::int32_t>(id);
    return;
  }

  unsigned long long mine = 0;
  for (std::uint32_t id = threadIdx.x; id < vocab; id += kThreads) {
    mine = max(mine, candidate(state, id));
  }
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    mine = max(mine, __shfl_xor_sync(0xffffffffU, mine, static_cast<int>(distance)));
  }
  if (threadIdx.x % kWarp == 0) atomicMax(&best, mine);
  __syncthreads();
  if (threadIdx.x == 0) {
    next_id[row] = static_cast<std::int32_t>(UINT32_MAX - static_cast<std::uint32_t>(best));
  }
}

void enqueue_forward(runtime::Exec& exec, const ForwardArgs& args) {
  const BatchView batch(exec.data<const std::int32_t>(args.buffers.inputs), *args.layout);
  auto* kv = exec.data<std::uint32_t>(args.buffers.kv);
  const HistoryView history(batch, exec, args.buffers.history, args.vocab);
  const auto stream = static_cast<cudaStream_t>(exec.native());
  const unsigned rows = args.layout->limits().rows;
  write_kv<<<rows, kThreads, 0, stream>>>(batch, kv, history, args.vocab);
  sample<<<rows, kThreads, 0, stream>>>(
      batch, kv, history, exec.data<std::int32_t>(args.buffers.outputs), args.vocab, args.seed);
}

}  // namespace

runtime::Body cuda_forward_body(const ForwardArgs& args) {
  return runtime::Body::of<enqueue_forward>(args);
}

}  // namespace syncopate::models::hash
