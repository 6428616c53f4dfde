// Division by a number that is known before the kernel starts. Stands in for FlashInfer's
// fastdiv.cuh, which wants a newer CCCL than CUDA 13.0 has: include it before any header of
// FlashInfer, whose own it then shuts out by the include guard.
#pragma once

#include <cstdint>

#include "backend/models/host_device.h"

#ifdef FLASHINFER_FASTDIV_CUH_
#error "include backend/models/llama/cuda/fastdiv.h before FlashInfer's headers"
#endif
#define FLASHINFER_FASTDIV_CUH_

namespace flashinfer {

/// A divisor: n / d and n % d for any n, as a multiply-add and a shift. The name and the members
/// are those that FlashInfer's kernels use.
///
/// The quotient is (n * m + a) >> (32 + s), with s = floor(log2 d). Of 2^(32+s) / d either the next
/// integer above is near enough to serve as m, with a = 0, or else the one below is, with a = m
/// (A. D. Robison, "N-bit unsigned division via N-bit multiply-add", ARITH 2005).
class uint_fastdiv {  // NOLINT(readability-identifier-naming): FlashInfer's name
 public:
  SYNCOPATE_HOST_DEVICE uint_fastdiv() : uint_fastdiv(1) {}

  /// `divisor` must not be 0.
  SYNCOPATE_HOST_DEVICE uint_fastdiv(std::uint32_t divisor) : divisor_(divisor) {
    while (divisor >> shift_ > 1) ++shift_;
    if ((divisor & (divisor - 1)) == 0) return;
    const std::uint64_t power = std::uint64_t{1} << (32 + shift_);
    const auto below = static_cast<std::uint32_t>(power / divisor);
    const std::uint64_t excess = (below + std::uint64_t{1}) * divisor - power;
    const bool above_serves = excess <= std::uint64_t{1} << shift_;
    multiplier_ = above_serves ? below + 1 : below;
    addend_ = above_serves ? 0 : below;
  }

  SYNCOPATE_HOST_DEVICE operator std::uint32_t() const { return divisor_; }

  SYNCOPATE_HOST_DEVICE void divmod(std::uint32_t n, std::uint32_t& quotient,
                                    std::uint32_t& remainder) const {
    quotient =
        static_cast<std::uint32_t>((std::uint64_t{n} * multiplier_ + addend_) >> 32) >> shift_;
    remainder = n - quotient * divisor_;
  }

 private:
  std::uint32_t divisor_;
  std::uint32_t multiplier_ = UINT32_MAX;  // with this and the addend, a power of 2
  std::uint32_t addend_ = UINT32_MAX;
  std::uint32_t shift_ = 0;
};

SYNCOPATE_HOST_DEVICE inline std::uint32_t operator/(std::uint32_t n, const uint_fastdiv& divisor) {
  std::uint32_t quotient, remainder;
  divisor.divmod(n, quotient, remainder);
  return quotient;
}

SYNCOPATE_HOST_DEVICE inline std::uint32_t operator%(std::uint32_t n, const uint_fastdiv& divisor) {
  std::uint32_t quotient, remainder;
  divisor.divmod(n, quotient, remainder);
  return remainder;
}

}  // namespace flashinfer
