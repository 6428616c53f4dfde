#include "backend/cuda/call.h"
#include "backend/models/llama/cuda/rank.cuh"
#include "backend/models/llama/cuda/sampler.h"
#include "backend/models/llama/cuda/selection.cuh"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kWarp = 32;
constexpr float kLargest = 3.402823466e38f;

// The argmax of a row is that of its parts, each found by one warp.
constexpr unsigned kPartLoads = 16;  // of one thread, all under way at once
constexpr std::uint32_t kPart = kPartLoads * kWarp;
constexpr unsigned kPartWarps = 8;  // of one block

std::uint32_t parts_of(std::uint32_t vocab) { return (vocab + kPart - 1) / kPart; }
SYNCOPATE_HOST_DEVICE std::uint32_t mark_words(std::uint32_t vocab) { return (vocab + 31) / 32; }

__global__ void __launch_bounds__(kPartWarps* kWarp)
    rank_parts(BatchView batch, Ranking ranking, const float* logits, std::uint32_t parts,
               Rank* best) {
  const std::uint32_t row = blockIdx.y;
  const std::uint32_t part = blockIdx.x * kPartWarps + threadIdx.x / kWarp;
  if (row >= batch.rows() || part >= parts) return;
  const std::uint32_t vocab = ranking.vocab();
  const float* const of_row = logits + std::size_t{row} * vocab;
  const std::uint32_t first = part * kPart + threadIdx.x % kWarp;
  float values[kPartLoads];
#pragma unroll
  for (unsigned i = 0; i < kPartLoads; ++i) {
    const std::uint32_t id = first + i * kWarp;
    values[i] = id < vocab ? of_row[id] : -INFINITY;
  }
  float largest = -INFINITY;
  std::uint32_t id = first;
#pragma unroll
  for (unsigned i = 0; i < kPartLoads; ++i) {
    if (values[i] > largest) {  // no NaN is
      largest = values[i];
      id = first + i * kWarp;
    }
  }
  const Rank mine = warp_max(id < vocab ? ranking.rank(largest, id) : 0);
  if (threadIdx.x % kWarp == 0) best[row * parts + part] = mine;
}

__device__ float real(std::uint32_t q16) {
  return static_cast<float>(q16) / static_cast<float>(RowSampling::kOne);
}

// exp_in_place (simd.h) of an argument that is not positive: the same operations in the same order,
// none fused, so that a weight has the bits that it has on the CPU.
__device__ float exponential(float x) {
  constexpr float kRound = 0x1.8p23f;
  x = x < -87.0f ? -87.0f : x;
  const float n = __fsub_rn(__fadd_rn(__fmul_rn(x, 1.44269504f), kRound), kRound);
  const float r = __fsub_rn(__fsub_rn(x, __fmul_rn(n, 0x1.62ep-1f)), __fmul_rn(n, 0x1.0bfbe8p-15f));
  float p = 1.0f / 5040;
  for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    p = __fadd_rn(__fmul_rn(p, r), term);
  }
  return __fmul_rn(p, __int_as_float((static_cast<int>(n) + 127) << 23));
}

// total * numerator / 2^bits, rounded up.
__device__ Mass share(Mass total, Mass numerator, unsigned bits) {
  const Mass high = __umul64hi(total, numerator), low = total * numerator;
  return (high << (64 - bits) | low >> bits) + ((low & ((Mass{1} << bits) - 1)) != 0 ? 1 : 0);
}

// A row's logits after the penalty, a NaN as the least.
class Scores {
 public:
  __device__ Scores(const float* logits, const std::uint32_t* marks, float penalty)
      : logits_(logits), marks_(marks), penalty_(penalty) {}

  __device__ float operator()(std::uint32_t id) const {
    float score = logits_[id];
    if (marks_ != nullptr && (marks_[id / 32] >> id % 32 & 1) != 0) {
      score = score > 0 ? score / penalty_ : score * penalty_;
    }
    return score > -INFINITY ? score : -INFINITY;
  }

 private:
  const float* logits_;
  const std::uint32_t* marks_;  // a bit for each id that has occurred; null: none
  float penalty_;
};

// What the rows that are not plain need, apart from the kernel: the others should not pay for it.
// All threads call it with equal arguments and get the same. `best` is the first of the scores.
__device__ __noinline__ std::uint32_t draw(const Scores& scores, const Ranking& ranking,
                                           const RowSampling& sampling, std::uint32_t position,
                                           Rank best, Selection::Memory& memory) {
  // Finite, so that every distance has an order.
  const auto finite = [](float score) { return max(-kLargest, min(score, kLargest)); };
  const auto rank_of = [&](std::uint32_t id) { return ranking.rank(finite(scores(id)), id); };
  const float largest = finite(ranking.score(best));
  const float temperature = real(sampling.temperature);
  const auto weight_of = [&](Rank rank) {
    return exponential((ranking.score(rank) - largest) / temperature);
  };
  // The first weight is 1: all together are at most 2^62. What the rounding down of the masses
  // takes from their sum is less than 2^(2 id_bits - 62) of it.
  const float one = static_cast<float>(Mass{1} << (62 - ranking.id_bits()));
  const auto mass_of_weight = [one](float weight) { return __float2ull_rz(weight * one); };

  Selection selection(ranking, memory);
  Rank last = 0;  // of those kept
  if (sampling.top_k != 0 && sampling.top_k < ranking.vocab()) {
    last = selection.select(
        rank_of, [](Rank) { return Mass{1}; }, [&](Mass) { return Mass{sampling.top_k}; });
  }
  if (sampling.top_p < RowSampling::kOne) {
    last = selection.select(
        rank_of, [&](Rank rank) { return rank < last ? 0 : mass_of_weight(weight_of(rank)); },
        [&](Mass total) { return share(total, sampling.top_p, 16); });
  }
  const float least = real(sampling.min_p);
  const Mass drawn = (random_bits(sampling.seed, position) >> 11) + 1;  // of 2^53
  return ranking.id(selection.select(
      rank_of,
      [&](Rank rank) {
        if (rank < last) return Mass{0};
        const float weight = weight_of(rank);
        return weight < least ? 0 : mass_of_weight(weight);
      },
      [&](Mass total) { return share(total, drawn, 53); }));
}

// One block a row.
__global__ void __launch_bounds__(Selection::kThreads)
    choose(BatchView batch, Ranking ranking, const float* logits, HistoryView history,
           std::uint32_t parts, const Rank* best_of_parts, std::uint32_t* all_marks,
           std::int32_t* next_id) {
  constexpr unsigned kThreads = Selection::kThreads;
  constexpr std::uint32_t kNoRow = UINT32_MAX;
  __shared__ RowSampling sampling;
  __shared__ std::uint32_t length;
  __shared__ Rank best;
  __shared__ Selection::Memory memory;
  const std::uint32_t row = blockIdx.x;

  // Read once for the block: in a racy run the inputs may change meanwhile, and threads must meet
  // at the barriers.
  if (threadIdx.x == 0) {
    length = row < batch.rows() ? batch.kv_length(row) : kNoRow;
    if (length != kNoRow) sampling = batch.sampling(row);
    best = 0;
  }
  __syncthreads();
  if (length == kNoRow) return;

  const auto find_best = [&](std::uint32_t count, auto rank_of) {
    Rank mine = 0;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) mine = max(mine, rank_of(i));
    mine = warp_max(mine);
    if (threadIdx.x % kWarp == 0 && mine != 0) atomicMax(&best, mine);
    __syncthreads();
  };
  const float* const of_row = logits + std::size_t{row} * ranking.vocab();
  const bool penalises = sampling.penalises() && history;
  const std::uint32_t words = mark_words(ranking.vocab());
  std::uint32_t* const marks = all_marks + std::size_t{row} * words;
  if (penalises) {
    for (std::uint32_t i = threadIdx.x; i < words; i += kThreads) marks[i] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < length; i += kThreads) {
      const std::uint32_t id = history.id(row, i);
      atomicOr(&marks[id / 32], 1U << id % 32);
    }
    __syncthreads();
  }
  const Scores scores(of_row, penalises ? marks : nullptr, real(sampling.penalty));
  if (penalises) {
    find_best(ranking.vocab(), [&](std::uint32_t id) { return ranking.rank(scores(id), id); });
  } else {
    const Rank* const of_parts = best_of_parts + std::size_t{row} * parts;
    find_best(parts, [&](std::uint32_t part) { return of_parts[part]; });
  }
  const std::uint32_t id =
      sampling.greedy() ? ranking.id(best) : draw(scores, ranking, sampling, length, best, memory);
  if (threadIdx.x == 0) next_id[row] = static_cast<std::int32_t>(id);
}

}  // namespace

std::size_t sampler_bytes(std::uint32_t rows, std::uint32_t vocab) {
  return std::size_t{rows} *
         (parts_of(vocab) * sizeof(Rank) + mark_words(vocab) * sizeof(std::uint32_t));
}

void enqueue_sample(cudaStream_t stream, const BatchView& batch, std::uint32_t rows,
                    std::uint32_t vocab, const float* logits, const HistoryView& history,
                    std::byte* scratch, std::int32_t* next_id) {
  const Ranking ranking(vocab);
  const std::uint32_t parts = parts_of(vocab);
  auto* const best = reinterpret_cast<Rank*>(scratch);
  auto* const marks = reinterpret_cast<std::uint32_t*>(best + std::size_t{rows} * parts);
  const dim3 grid((parts + kPartWarps - 1) / kPartWarps, rows);
  rank_parts<<<grid, kPartWarps * kWarp, 0, stream>>>(batch, ranking, logits, parts, best);
  SYNCOPATE_CUDA_CALL(cudaGetLastError());
  choose<<<rows, Selection::kThreads, 0, stream>>>(batch, ranking, logits, history, parts, best,
                                                   marks, next_id);
  SYNCOPATE_CUDA_CALL(cudaGetLastError());
}

}  // namespace syncopate::models::llama
