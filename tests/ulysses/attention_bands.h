// Bands of attention for tests of what computes them, and what they must give: the textbook's
// formula in double precision over the same rounded inputs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backend/ulysses/attention.h"
#include "backend/ulysses/element_type.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {

struct BandSizes {
  std::uint32_t batch, tokens, query_heads, group, lead, head_dim;
};

inline std::string text_of(const AttentionBand& band) {
  return std::to_string(band.batch) + " x " + std::to_string(band.tokens) + " tokens, " +
         std::to_string(band.query_heads) + "/" + std::to_string(band.kv_heads) + " heads of " +
         std::to_string(band.head_dim) + ", groups of " + std::to_string(band.group) + " from " +
         std::to_string(band.lead) + ", " + to_string(band.type) + (band.causal ? ", causal" : "");
}

inline std::uint64_t elements_of(const AttentionBand& band, std::uint32_t heads) {
  return std::uint64_t{band.batch} * band.tokens * heads * band.head_dim;
}

/// A band with its inputs one behind the other in a slot, as a layout has them.
inline AttentionBand make_band(const BandSizes& sizes, ElementType type, bool causal) {
  const auto behind = [&](std::uint64_t offset, std::uint64_t elements) {
    return (offset + elements * element_bytes(type) + 255) / 256 * 256;
  };
  AttentionBand band;
  band.batch = sizes.batch;
  band.tokens = sizes.tokens;
  band.query_heads = sizes.query_heads;
  band.kv_heads = (sizes.lead + sizes.query_heads - 1) / sizes.group + 1;
  band.head_dim = sizes.head_dim;
  band.type = type;
  band.group = sizes.group;
  band.lead = sizes.lead;
  band.causal = causal;
  band.k = behind(0, elements_of(band, band.query_heads));
  band.v = behind(band.k, elements_of(band, band.kv_heads));
  return band;
}

inline std::uint64_t slot_bytes(const AttentionBand& band) {
  return band.v + elements_of(band, band.kv_heads) * element_bytes(band.type);
}
inline std::uint64_t output_bytes(const AttentionBand& band) {
  return elements_of(band, band.query_heads) * element_bytes(band.type);
}

inline std::vector<std::byte> random_slot(const AttentionBand& band, std::uint32_t seed) {
  std::vector<std::byte> slot(slot_bytes(band));
  const auto fill = [&]<class T>(std::uint64_t at, std::uint32_t heads, Tensor tensor) {
    for (std::uint64_t i = 0; i < elements_of(band, heads); ++i) {
      // Scores of some size: else every key weighs the same, whichever it is.
      const T element = from_float<T>(3 * input_value(tensor, seed, i));
      std::memcpy(&slot[at + i * sizeof(T)], &element, sizeof(T));
    }
  };
  with_element(band.type, [&]<class T>() {
    fill.template operator()<T>(band.q, band.query_heads, Tensor::kQ);
    fill.template operator()<T>(band.k, band.kv_heads, Tensor::kK);
    fill.template operator()<T>(band.v, band.kv_heads, Tensor::kV);
  });
  return slot;
}

inline std::vector<double> values_at(const std::byte* bytes, std::uint64_t count,
                                     ElementType type) {
  std::vector<double> values(count);
  with_element(type, [&]<class T>() {
    for (std::uint64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
      values[i] = to_float(element);
    }
  });
  return values;
}

/// softmax(q k^T / sqrt(d)) v of every query, with the scores of all its keys kept.
inline std::vector<double> textbook_attention(const AttentionBand& band, const std::byte* slot) {
  const std::uint64_t kv_count = elements_of(band, band.kv_heads), dim = band.head_dim;
  const auto q = values_at(slot + band.q, elements_of(band, band.query_heads), band.type);
  const auto k = values_at(slot + band.k, kv_count, band.type);
  const auto v = values_at(slot + band.v, kv_count, band.type);
  std::vector<double> output(q.size()), weights;
  for (std::uint64_t row = 0; row < q.size() / dim; ++row) {
    const std::uint64_t head = row % band.query_heads, token = row / band.query_heads;
    const std::uint64_t first = token / band.tokens * band.tokens;  // of its sequence
    const std::uint64_t end = band.causal ? token + 1 : first + band.tokens;
    const auto place = [&](std::uint64_t key) {
      return (key * band.kv_heads + (band.lead + head) / band.group) * dim;
    };
    weights.clear();
    double sum = 0;
    for (std::uint64_t key = first; key < end; ++key) {
      double dot = 0;
      for (std::uint64_t d = 0; d < dim; ++d) dot += q[row * dim + d] * k[place(key) + d];
      weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(dim))));
      sum += weights.back();
    }
    for (std::uint64_t key = first; key < end; ++key) {
      for (std::uint64_t d = 0; d < dim; ++d) {
        output[row * dim + d] += weights[key - first] / sum * v[place(key) + d];
      }
    }
  }
  return output;
}

/// Where weights are rounded to the element type as well, before they meet v.
inline double attention_tolerance(ElementType type) {
  return type == ElementType::kFp32 ? 1e-5 : type == ElementType::kFp16 ? 0x1p-9 : 0x1p-6;
}

/// MHA; groups as a whole and cut at either end or both; one key; a batch; odd sizes.
inline std::vector<BandSizes> band_sizes(std::uint32_t head_dim) {
  return {{1, 1, 1, 1, 0, head_dim},  {1, 77, 3, 1, 0, head_dim}, {2, 33, 4, 1, 0, head_dim},
          {1, 64, 8, 4, 0, head_dim}, {2, 40, 3, 4, 1, head_dim}, {1, 50, 7, 4, 2, head_dim},
          {1, 35, 8, 3, 1, head_dim}, {2, 19, 5, 7, 0, head_dim}, {1, 130, 2, 2, 1, head_dim}};
}

inline void expect_near(const AttentionBand& band, const std::vector<double>& found,
                        const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size()) << text_of(band);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], attention_tolerance(band.type) * (1 + std::abs(expected[i])))
        << text_of(band) << ", element " << i;
  }
}

}  // namespace syncopate::ulysses
