// Attentions with a fault.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "backend/ulysses/host_attention.h"

namespace syncopate::ulysses {

/// Computes as HostAttention does, then calls `spoil` with the band and its output.
class SpoiledAttention final : public Attention {
 public:
  using Spoil = std::function<void(const AttentionBand& band, float* output)>;
  explicit SpoiledAttention(Spoil spoil) : spoil_(std::move(spoil)) {}

  const char* kind() const override { return "spoiled"; }
  void check(const AttentionBand& band) const override { host_.check(band); }
  runtime::Kernel kernel(const AttentionBand& band,
                         const AttentionBuffers& buffers) const override {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({this, &band, buffers, host_.kernel(band, buffers)});
    return {.host = runtime::Body::of<attend>(Args{&calls_.back()}), .cuda = {}};
  }

 private:
  struct Call {
    const SpoiledAttention* attention;
    const AttentionBand* band;
    AttentionBuffers buffers;
    runtime::Kernel right;
  };
  struct Args {
    const Call* call;
  };
  static void attend(runtime::Exec& exec, const Args& args) {
    const Call& call = *args.call;
    call.right.host(exec);
    auto* output = exec.data<std::byte>(call.buffers.output) + call.band->output;
    call.attention->spoil_(*call.band, reinterpret_cast<float*>(output));
  }

  HostAttention host_;
  Spoil spoil_;
  mutable std::mutex mutex_;
  mutable std::deque<Call> calls_;  // kernels point to them
};

/// Fails in its kernel once it has computed `good` bands.
inline SpoiledAttention failing_attention(int good) {
  return SpoiledAttention(
      [left = std::make_shared<std::atomic<int>>(good)](const AttentionBand&, float*) {
        if ((*left)-- <= 0) throw std::runtime_error("the attention's fault");
      });
}

}  // namespace syncopate::ulysses
