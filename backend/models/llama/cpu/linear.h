// A linear layer over a matrix of token rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "backend/models/llama/weights.h"

namespace syncopate::models::llama {

/// How linear layers are computed; nothing else differs between the modes.
enum class LinearMode : std::uint8_t {
  kFast,       ///< libtorch's matrix product: a row's bits may change with the number of rows.
  kInvariant,  ///< panel_product: a row's bits depend on the row alone.
};

/// Immutable once made; apply() is safe from any thread.
class Linear {
 public:
  Linear(Matrix weights, LinearMode mode);

  std::uint32_t out() const { return out_; }
  std::uint32_t in() const { return in_; }
  /// y[rows, out] = x[rows, in] W^T; both dense and row-major, not overlapping.
  void apply(const float* x, std::uint32_t rows, float* y) const;

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment{64};  // A cache line.

  std::uint32_t out_, in_;
  LinearMode mode_;
  std::unique_ptr<float[], Free> packed_;  // kFast: [in, out]; kInvariant: see panel_product.h
};

}  // namespace syncopate::models::llama
