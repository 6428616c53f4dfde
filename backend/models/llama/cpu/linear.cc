#include "backend/models/llama/cpu/linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "backend/models/llama/cpu/panel_product.h"

namespace syncopate::models::llama {
namespace {

/// A tensor over memory of ours, for the length of a call.
at::Tensor view(const float* data, std::uint32_t rows, std::uint32_t columns) {
  return at::from_blob(const_cast<float*>(data), {std::int64_t{rows}, std::int64_t{columns}},
                       at::kFloat);
}

}  // namespace

Linear::Linear(Matrix weights, LinearMode mode) : out_(weights.out), in_(weights.in), mode_(mode) {
  const std::size_t floats =
      mode == LinearMode::kInvariant ? packed_floats(out_, in_) : std::size_t{out_} * in_;
  packed_.reset(static_cast<float*>(::operator new[](floats * sizeof(float), kAlignment)));
  if (mode == LinearMode::kInvariant) {
    pack_panels(weights, packed_.get());
  } else {
    // [in, out]: on the few rows of a decode step a sixth faster than [out, in].
    const c10::InferenceMode guard;
    view(packed_.get(), in_, out_).copy_(view(weights.values.data(), out_, in_).t());
  }
}

void Linear::apply(const float* x, std::uint32_t rows, float* y) const {
  if (rows == 0) return;
  if (mode_ == LinearMode::kInvariant) {
    panel_product(packed_.get(), out_, in_, x, rows, y);
    return;
  }
  // Each thread takes libtorch's number of threads over when it first asks: without that, one of
  // our streams would have OpenMP's, a team for each product whatever the caller said.
  (void)at::get_num_threads();
  const c10::InferenceMode guard;
  at::Tensor result = view(y, rows, out_);
  at::mm_out(result, view(x, rows, in_), view(packed_.get(), in_, out_));
}

}  // namespace syncopate::models::llama
