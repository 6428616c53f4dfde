// A row's scores in a block of threads, for Chooser.
#pragma once

#include <cstdint>

#include "backend/models/hash/hash_math.h"
#include "backend/models/hash/weight.h"
#include "backend/models/history.h"

namespace syncopate::models::hash {

/// HostScores for a block of kThreads threads, which call reduce() together. All of them hold equal
/// arguments.
class BlockScores {
 public:
  static constexpr unsigned kThreads = 256;
  static constexpr std::uint32_t kWindow = 1U << 15;  ///< Ids whose occurrence is noted at a time.

  struct Memory {
    alignas(8) unsigned char partial[kThreads][16];  // a result of reduce() for each thread
    std::uint32_t seen[kWindow / 32];
  };

  __device__ BlockScores(std::uint32_t state, std::uint32_t vocab, std::uint32_t penalty,
                         const HistoryView& history, std::uint32_t row, std::uint32_t length,
                         Memory& memory)
      : state_(state),
        vocab_(vocab),
        penalty_(history ? penalty : RowSampling::kOne),
        history_(history),
        row_(row),
        length_(length),
        memory_(memory) {}

  template <class T, class Of, class Join>
  __device__ T reduce(T first, Of of, Join join) {
    static_assert(sizeof(T) <= sizeof(memory_.partial[0]));
    T mine = first;
    for (std::uint32_t begin = 0; begin < vocab_; begin += kWindow) {
      const std::uint32_t end = min(begin + kWindow, vocab_);
      const bool penalises = penalty_ != RowSampling::kOne;
      if (penalises) note(begin);
      for (std::uint32_t id = begin + threadIdx.x; id < end; id += kThreads) {
        const std::int64_t plain = score(logit(state_, id));
        mine =
            join(mine, of(id, penalises && seen(id - begin) ? penalised(plain, penalty_) : plain));
      }
    }
    T* const partial = reinterpret_cast<T*>(memory_.partial);
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        partial[threadIdx.x] = join(partial[threadIdx.x], partial[threadIdx.x + half]);
      }
      __syncthreads();
    }
    const T result = partial[0];
    __syncthreads();  // all have read before the next reduction writes
    return result;
  }

 private:
  __device__ bool seen(std::uint32_t bit) const {
    return (memory_.seen[bit / 32] >> (bit % 32) & 1) != 0;
  }

  __device__ void note(std::uint32_t begin) {
    if (noted_ == begin) return;
    noted_ = begin;
    __syncthreads();
    for (std::uint32_t word = threadIdx.x; word < kWindow / 32; word += kThreads) {
      memory_.seen[word] = 0;
    }
    __syncthreads();
    for (std::uint32_t position = threadIdx.x; position < length_; position += kThreads) {
      const std::uint32_t bit = history_.id(row_, position) - begin;
      if (bit < kWindow) atomicOr(&memory_.seen[bit / 32], 1U << (bit % 32));
    }
    __syncthreads();
  }

  std::uint32_t state_, vocab_, penalty_;
  HistoryView history_;
  std::uint32_t row_, length_;
  Memory& memory_;
  std::uint32_t noted_ = UINT32_MAX;  // the window's first id
};

}  // namespace syncopate::models::hash
