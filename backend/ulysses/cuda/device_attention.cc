#include "backend/ulysses/cuda/device_attention.h"

#include <algorithm>
#include <string>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/runtime/error.h"
#include "backend/ulysses/cuda/head_runs.h"
#include "backend/ulysses/error.h"

namespace syncopate::ulysses::cuda {
namespace {

bool by_cudnn(const AttentionBand& band) {
  return band.type != ElementType::kFp32 && band.head_dim % 8 == 0 &&
         band.head_dim <= DeviceAttention::kMaxCudnnHeadDim;
}

CudnnShape shape_of(const AttentionBand& band, const HeadRun& run) {
  CudnnShape shape;
  shape.batch = band.batch;
  shape.tokens = band.tokens;
  shape.head_dim = band.head_dim;
  shape.query_heads = run.query_count;
  shape.kv_heads = run.kv_count;
  shape.band_query_heads = band.query_heads;
  shape.band_kv_heads = band.kv_heads;
  shape.type = band.type;
  shape.causal = band.causal;
  return shape;
}

/// Bytes of a band's tensors, for a call that only has to run.
std::uint64_t bytes_of(const AttentionBand& band, std::uint32_t heads) {
  return std::uint64_t{band.batch} * band.tokens * heads * band.head_dim * element_bytes(band.type);
}

}  // namespace

struct DeviceAttention::EnqueueArgs {
  const DeviceAttention* self;
  const AttentionBand* band;
  AttentionBuffers buffers;
};

void DeviceAttention::check(const AttentionBand& band) const {
  if (band.head_dim <= kPlainMaxHeadDim) return;
  throw UlyssesError(Fault::kUnsupported, "attention on a device takes heads of at most " +
                                              std::to_string(kPlainMaxHeadDim) + " elements, not " +
                                              std::to_string(band.head_dim));
}

DeviceAttention::Gpu& DeviceAttention::current_gpu() const {
  int gpu = 0;
  SYNCOPATE_CUDA_CALL(cudaGetDevice(&gpu));
  return gpus_.at(static_cast<std::size_t>(gpu));
}

std::uint64_t DeviceAttention::prepare(const AttentionBand& band, runtime::Device device) const {
  const std::size_t index = device.id % gpus_.size();
  SYNCOPATE_CUDA_CALL(cudaSetDevice(static_cast<int>(index)));
  std::uint64_t scratch_bytes = 0;
  bool known = false;
  if (by_cudnn(band)) {
    Gpu& gpu = gpus_[index];
    const std::lock_guard lock(gpu.mutex);
    if (!gpu.handle) gpu.handle = std::make_unique<CudnnHandle>();
    known = true;
    for (const HeadRun& run : head_runs(band)) {
      std::unique_ptr<CudnnPlan>& plan = gpu.plans[shape_of(band, run)];
      if (!plan) {
        plan = make_cudnn_plan(*gpu.handle, shape_of(band, run));
        known = false;
      }
      scratch_bytes = std::max(scratch_bytes, plan->scratch_bytes());
    }
  }
  if (known) return scratch_bytes;
  // Once now, on memory that is thrown away: the code is then loaded.
  const auto q = syncopate::cuda::make_device_memory(bytes_of(band, band.query_heads));
  const auto kv = syncopate::cuda::make_device_memory(bytes_of(band, band.kv_heads));
  const auto output = syncopate::cuda::make_device_memory(bytes_of(band, band.query_heads));
  const auto scratch = syncopate::cuda::make_device_memory(scratch_bytes);
  const auto bytes = [](const auto& memory) { return static_cast<std::byte*>(memory.get()); };
  enqueue(band, {bytes(q), bytes(kv), bytes(kv), bytes(output)}, bytes(scratch), nullptr);
  SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  return scratch_bytes;
}

runtime::Kernel DeviceAttention::kernel(const AttentionBand& band,
                                        const AttentionBuffers& buffers) const {
  return {.host = {}, .cuda = runtime::Body::of<run>(EnqueueArgs{this, &band, buffers})};
}

void DeviceAttention::run(runtime::Exec& exec, const EnqueueArgs& args) {
  const AttentionBand& band = *args.band;
  std::byte* const inputs = exec.data<std::byte>(args.buffers.inputs) + args.buffers.slot;
  std::byte* const scratch =
      args.buffers.scratch ? exec.data<std::byte>(args.buffers.scratch) : nullptr;
  args.self->enqueue(band,
                     {inputs + band.q, inputs + band.k, inputs + band.v,
                      exec.data<std::byte>(args.buffers.output) + band.output},
                     scratch, static_cast<cudaStream_t>(exec.native()));
}

void DeviceAttention::enqueue(const AttentionBand& band, const DeviceTensors& tensors,
                              std::byte* scratch, cudaStream_t stream) const {
  if (!by_cudnn(band)) {
    enqueue_plain_attention(band, tensors, stream);
    return;
  }
  Gpu& gpu = current_gpu();
  const std::lock_guard lock(gpu.mutex);
  const std::uint64_t head = std::uint64_t{band.head_dim} * element_bytes(band.type);
  for (const HeadRun& run : head_runs(band)) {
    const auto plan = gpu.plans.find(shape_of(band, run));
    if (plan == gpu.plans.end()) {
      throw runtime::UsageError("attention of a band that was not prepared");
    }
    plan->second->enqueue({tensors.q + run.query * head, tensors.k + run.kv * head,
                           tensors.v + run.kv * head, tensors.output + run.query * head},
                          scratch, stream);
  }
}

std::size_t DeviceAttention::plans() const {
  std::size_t count = 0;
  for (const Gpu& gpu : gpus_) count += gpu.plans.size();
  return count;
}

}  // namespace syncopate::ulysses::cuda
