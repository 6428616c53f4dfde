#include "backend/ulysses/benchmark/sampled_rows.h"

#include <algorithm>
#include <cmath>

#include "backend/models/mix64.h"
#include "backend/ulysses/benchmark/inputs.h"

namespace syncopate::ulysses {
namespace {

/// The vector of a head at a token, of a whole q, k or v with `heads` heads.
template <class T>
void read_vector(std::vector<double>& to, const HeadChunkLayout& layout, Tensor tensor,
                 const SampledRow& at, std::uint32_t heads, std::uint64_t seed) {
  const std::uint64_t token = std::uint64_t{at.batch} * layout.all_tokens() + at.token;
  const std::uint64_t first = (token * heads + at.head) * to.size();
  for (std::size_t d = 0; d < to.size(); ++d) {
    to[d] = to_float(from_float<T>(input_value(seed, tensor, first + d)));
  }
}

template <class T>
std::vector<double> attention_of_row(const HeadChunkLayout& layout, const SampledRow& row,
                                     bool causal, std::uint64_t seed) {
  const LayoutOptions& options = layout.options();
  const std::size_t dim = options.head_dim;
  std::vector<double> q(dim), other(dim), out(dim);
  read_vector<T>(q, layout, Tensor::kQ, row, options.heads, seed);
  SampledRow key = row;
  key.head = row.head / layout.query_heads_per_kv_head();
  const std::uint32_t keys = causal ? row.token + 1 : layout.all_tokens();
  std::vector<double> weights(keys);
  for (key.token = 0; key.token < keys; ++key.token) {
    read_vector<T>(other, layout, Tensor::kK, key, options.kv_heads, seed);
    double score = 0;
    for (std::size_t d = 0; d < dim; ++d) score += q[d] * other[d];
    weights[key.token] = score / std::sqrt(static_cast<double>(dim));
  }
  const double most = *std::ranges::max_element(weights);
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (key.token = 0; key.token < keys; ++key.token) {
    read_vector<T>(other, layout, Tensor::kV, key, options.kv_heads, seed);
    for (std::size_t d = 0; d < dim; ++d) out[d] += weights[key.token] / sum * other[d];
  }
  return out;
}

}  // namespace

std::vector<SampledRow> sample_rows(const HeadChunkLayout& layout, std::size_t count,
                                    std::uint64_t seed) {
  const std::uint32_t batch = layout.options().batch;
  const std::uint32_t heads = layout.options().heads;
  std::vector<SampledRow> rows = {{0, 0, 0}, {batch - 1, layout.all_tokens() - 1, heads - 1}};
  for (std::uint64_t draw = 0; rows.size() < count; ++draw) {
    const std::uint64_t at = models::mix64(models::mix64(seed) + draw);
    rows.push_back({static_cast<std::uint32_t>(models::mix64(at + 1) % batch),
                    static_cast<std::uint32_t>(models::mix64(at + 2) % layout.all_tokens()),
                    static_cast<std::uint32_t>(models::mix64(at + 3) % heads)});
  }
  return rows;
}

std::vector<double> attend_row(const HeadChunkLayout& layout, const SampledRow& row, bool causal,
                               std::uint64_t seed) {
  return with_element(layout.options().type,
                      [&]<class T>() { return attention_of_row<T>(layout, row, causal, seed); });
}

void compare_row(Difference& worst, const HeadChunkLayout& layout, const SampledRow& row,
                 const std::byte* whole, const std::vector<double>& expected) {
  const LayoutOptions& options = layout.options();
  const std::uint64_t token = std::uint64_t{row.batch} * layout.all_tokens() + row.token;
  const std::uint64_t first = (token * options.heads + row.head) * options.head_dim;
  with_element(options.type, [&]<class T>() {
    const auto* values = reinterpret_cast<const T*>(whole) + first;
    for (std::size_t d = 0; d < expected.size(); ++d) {
      worst.add(first + d, to_float(values[d]), expected[d]);
    }
  });
}

}  // namespace syncopate::ulysses
