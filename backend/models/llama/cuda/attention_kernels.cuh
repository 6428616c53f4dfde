// FlashInfer's paged prefill kernel, and how it is launched.
#pragma once

#include "backend/models/llama/cuda/fastdiv.h"
// After fastdiv.h.
#include <cmath>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>
#include <string>

#include "backend/cuda/call.h"
#include "backend/models/llama/cuda/attention_kernels.h"
#include "backend/models/llama/cuda/early_launch.cuh"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {

/// The kernel's arguments. That keys are not split is known as it is compiled, and so what a split
/// would need drops out of it.
struct AttentionParams : flashinfer::BatchPrefillPagedParams<Bf16, Bf16, Bf16, std::int32_t> {
  static constexpr bool partition_kv = false;
};

/// Blocks of `kTile` queries take 16 * kWarpsKv * kMmaKv keys at a time. FlashInfer's own launcher
/// asks the device for its shared memory each time, and then chooses these: the most of 1, 2, 4, 8
/// with which an SM of 164 KB or more (compute capability 8.0, 9.0) holds two blocks.
template <std::uint32_t kHeadDim, std::uint32_t kTile>
constexpr std::uint32_t kMmaKv = kTile == 64                      ? 8
                                 : kTile == 16 && kHeadDim == 128 ? 2
                                                                  : 4;

template <std::uint32_t kHeadDim, std::uint32_t kTile>
void launch_attention(cudaStream_t stream, const AttentionParams& params) {
  using Variant = flashinfer::DefaultAttention</*use_custom_mask=*/false,
                                               /*use_sliding_window=*/false,
                                               /*use_logits_soft_cap=*/false, /*use_alibi=*/false>;
  using Traits = flashinfer::KernelTraits<
      flashinfer::MaskMode::kCausal, kTile, flashinfer::get_num_mma_q(kTile),
      kMmaKv<kHeadDim, kTile>, kHeadDim / 16, kHeadDim / 16, flashinfer::get_num_warps_q(kTile),
      flashinfer::get_num_warps_kv(kTile), flashinfer::PosEncodingMode::kNone, Bf16, Bf16, Bf16,
      float, std::int32_t, Variant>;
  static_assert(!Traits::IsInvalid());
  constexpr std::size_t kSharedBytes = sizeof(typename Traits::SharedStoragePaged);
  const auto kernel = flashinfer::BatchPrefillWithPagedKVCacheKernel</*SAME_KV_STRIDES=*/true,
                                                                     Traits, AttentionParams>;
  SYNCOPATE_CUDA_CALL(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const dim3 grid(params.padded_batch_size, 1, params.paged_kv.num_heads);
  const dim3 block(32, Traits::NUM_WARPS_Q, Traits::NUM_WARPS_KV);
  // Before it waits for the kernels before it, it reads the plan: several kernels ago.
  launch_early(kernel, grid, block, kSharedBytes, stream, params);
}

inline AttentionParams attention_params(const LlamaConfig& config, const StepShape& shape,
                                        const StepPlan& plan, const KvPool& pool,
                                        std::uint32_t layer, const Bf16* qkv, Bf16* out) {
  AttentionParams params;
  params.q = const_cast<Bf16*>(qkv);  // FlashInfer knows no const
  params.q_stride_n = static_cast<std::int32_t>(config.qkv_size());
  params.q_stride_h = static_cast<std::int32_t>(config.head_dim);
  params.q_indptr = plan.query_start;
  params.o = out;
  params.o_indptr = plan.query_start;
  params.group_size = flashinfer::uint_fastdiv(shape.group);
  params.num_qo_heads = config.heads;
  params.window_left = -1;
  params.sm_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));

  auto& kv = params.paged_kv;
  kv.page_size = flashinfer::uint_fastdiv(pool.page_tokens);
  kv.num_heads = pool.kv_heads;
  kv.head_dim = pool.head_dim;
  kv.batch_size = shape.rows;
  kv.stride_page = kv.v_stride_page = pool.page_stride;
  kv.stride_n = kv.v_stride_n = pool.head_dim;
  kv.stride_h = kv.v_stride_h = pool.head_stride;
  kv.k_data = pool.key(layer, 0);
  kv.v_data = kv.k_data + pool.value_offset;
  kv.indices = plan.pages;
  kv.indptr = plan.page_start;
  kv.last_page_len = plan.last_page_tokens;

  params.request_indices = plan.tile_row;
  params.qo_tile_indices = plan.tile_index;
  params.block_valid_mask = plan.tile_valid;
  params.padded_batch_size = shape.tiles();
  // Read for nothing without a split, should the compiler not see it.
  params.kv_tile_indices = plan.tile_index;
  params.kv_chunk_size_ptr = plan.query_start;
  return params;
}

template <std::uint32_t kHeadDim>
void enqueue_attention_of(cudaStream_t stream, const LlamaConfig& config, const StepShape& shape,
                          const StepPlan& plan, const KvPool& pool, std::uint32_t layer,
                          const Bf16* qkv, Bf16* out) {
  const AttentionParams params = attention_params(config, shape, plan, pool, layer, qkv, out);
  switch (shape.tile) {
    case 16:
      return launch_attention<kHeadDim, 16>(stream, params);
    case 64:
      return launch_attention<kHeadDim, 64>(stream, params);
    case 128:
      return launch_attention<kHeadDim, 128>(stream, params);
    default:
      throw runtime::UsageError("attention in tiles of " + std::to_string(shape.tile) +
                                ": they are of 16, 64 or 128");
  }
}

}  // namespace syncopate::models::llama
