// A matrix product whose rows do not know of each other.
//
// Libraries choose a kernel, and with it the order of the additions, by the number of rows, so a
// request's bits change with its batch-mates. Here every element is one sum over k = 0, 1, … in
// that order, without fused multiply-adds: whatever the number of rows, a row's place among them,
// or the machine's vector length.
//
// W [out, in] is kept as panels of kPanel outputs: panel p holds W[p * kPanel + j][k] at
// [p][k][j], the last one padded with zeros. A panel is read as one stream, from the cache for all
// rows but the first few, and every vector of it meets four rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/models/llama/weights.h"

namespace syncopate::models::llama {

inline constexpr std::uint32_t kPanel = 16;

/// Floats that the panels of an [out, in] matrix take.
std::size_t packed_floats(std::uint32_t out, std::uint32_t in);
void pack_panels(const Matrix& weights, float* panels);

/// y[rows, out] = x[rows, in] W^T. Row-major and dense; y overlaps neither x nor the panels.
void panel_product(const float* panels, std::uint32_t out, std::uint32_t in, const float* x,
                   std::uint32_t rows, float* y);

}  // namespace syncopate::models::llama
