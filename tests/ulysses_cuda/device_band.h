// One band on the device, launched without a runtime.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/ulysses/cuda/device_attention.h"
#include "tests/ulysses/attention_bands.h"

namespace syncopate::ulysses {

/// Makes the memory of a band of device 0, and prepares its attention.
class DeviceBand {
 public:
  /// `attention` must outlive it.
  DeviceBand(const cuda::DeviceAttention& attention, const AttentionBand& band)
      : band_(band),
        scratch_bytes_(attention.prepare(band_, runtime::Device{0})),
        slot_(syncopate::cuda::make_device_memory(slot_bytes(band_))),
        output_(syncopate::cuda::make_device_memory(output_bytes(band_))),
        scratch_(syncopate::cuda::make_device_memory(std::max<std::uint64_t>(scratch_bytes_, 1))) {
    AttentionBuffers buffers;
    buffers.inputs = runtime::Buffer{0};
    buffers.output = runtime::Buffer{1};
    if (scratch_bytes_ > 0) buffers.scratch = runtime::Buffer{2};
    kernel_ = attention.kernel(band_, buffers);
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  }
  DeviceBand(const DeviceBand&) = delete;
  DeviceBand& operator=(const DeviceBand&) = delete;

  const AttentionBand& band() const { return band_; }
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }

  void assign(const std::vector<std::byte>& slot) {
    SYNCOPATE_CUDA_CALL(cudaMemcpy(slot_.get(), slot.data(), slot.size(), cudaMemcpyHostToDevice));
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  }
  void enqueue(cudaStream_t stream) const {
    std::byte* bases[] = {static_cast<std::byte*>(slot_.get()),
                          static_cast<std::byte*>(output_.get()),
                          static_cast<std::byte*>(scratch_.get())};
    runtime::Exec exec(bases, stream);
    kernel_.cuda(exec);
  }
  /// Once all that the device was given is done.
  std::vector<double> output() const {
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    std::vector<std::byte> bytes(output_bytes(band_));
    SYNCOPATE_CUDA_CALL(
        cudaMemcpy(bytes.data(), output_.get(), bytes.size(), cudaMemcpyDeviceToHost));
    return values_at(bytes.data(), elements_of(band_, band_.query_heads), band_.type);
  }

 private:
  AttentionBand band_;
  std::uint64_t scratch_bytes_;
  syncopate::cuda::DeviceMemory slot_, output_, scratch_;
  runtime::Kernel kernel_;
};

}  // namespace syncopate::ulysses
