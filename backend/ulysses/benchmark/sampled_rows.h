// An oracle that shares nothing with any attention: a few rows of it in double precision, from the
// formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/ulysses/benchmark/comparison.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {

/// One query.
struct SampledRow {
  std::uint32_t batch = 0;
  std::uint32_t token = 0;  ///< Of the whole sequence.
  std::uint32_t head = 0;
};

/// `count` rows drawn from the seed; the first and the last of all are among them.
std::vector<SampledRow> sample_rows(const HeadChunkLayout& layout, std::size_t count,
                                    std::uint64_t seed);

/// The row's attention on inputs of input_value(), rounded to the element type.
std::vector<double> attend_row(const HeadChunkLayout& layout, const SampledRow& row, bool causal,
                               std::uint64_t seed);

/// Compares a row with `whole`, the output of all ranks, [batch, token, head, dim].
void compare_row(Difference& worst, const HeadChunkLayout& layout, const SampledRow& row,
                 const std::byte* whole, const std::vector<double>& expected);

}  // namespace syncopate::ulysses
