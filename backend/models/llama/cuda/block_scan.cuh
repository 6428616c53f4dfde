// A scan over the threads of a block.
#pragma once

namespace syncopate::models::llama {

template <class T>
struct Scanned {
  T before;  ///< Of the threads before.
  T all;     ///< Of the whole block.
};

/// Joins the values of the block's kThreads threads in order, from `none`, which changes nothing.
/// All threads call it together; `join` is associative. Integers, so that no order shows.
template <unsigned kThreads, class T, class Join>
__device__ Scanned<T> block_scan(T mine, T none, Join join) {
  constexpr unsigned kWarp = 32, kWarps = kThreads / kWarp;
  static_assert(kThreads % kWarp == 0 && kWarps <= kWarp);
  __shared__ T of_warp[kWarps];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const auto scan = [&](T value) {
    for (unsigned distance = 1; distance < kWarp; distance *= 2) {
      const T other = __shfl_up_sync(0xffffffffU, value, distance);
      if (lane >= distance) value = join(other, value);
    }
    return value;
  };

  const T up_to = scan(mine);
  if (lane == kWarp - 1) of_warp[warp] = up_to;
  __syncthreads();
  const T warps = scan(lane < kWarps ? of_warp[lane] : none);
  const T warps_before = __shfl_sync(0xffffffffU, warps, warp == 0 ? 0 : warp - 1);
  const T lanes_before = __shfl_up_sync(0xffffffffU, up_to, 1);
  __syncthreads();  // all have read before the next scan writes
  return {join(warp == 0 ? none : warps_before, lane == 0 ? none : lanes_before),
          __shfl_sync(0xffffffffU, warps, kWarps - 1)};
}

}  // namespace syncopate::models::llama
