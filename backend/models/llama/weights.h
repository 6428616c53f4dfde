// The transformer's parameters in fp32, as an execution side takes them over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "backend/models/llama/config.h"

namespace syncopate::models::llama {

/// A linear layer's weights, [out, in] row-major: y = W x.
struct Matrix {
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(std::uint32_t rows, std::uint32_t columns)
      : out(rows), in(columns), values(std::size_t{rows} * columns) {}
  float* row(std::uint32_t r) { return values.data() + std::size_t{r} * in; }
  const float* row(std::uint32_t r) const { return values.data() + std::size_t{r} * in; }
};

struct LayerWeights {
  std::vector<float> attention_norm;  ///< [hidden]
  Matrix qkv;                         ///< [query | key | value, hidden]
  Matrix attention_out;               ///< [hidden, query]
  std::vector<float> mlp_norm;        ///< [hidden]
  Matrix gate_up;                     ///< [gate | up, hidden]
  Matrix down;                        ///< [hidden, intermediate]
};

/// Owned by value. `head` is empty when the embeddings are tied.
struct Weights {
  Matrix embedding;  ///< [vocab, hidden]
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;
  Matrix head;  ///< [vocab, hidden]
};

/// Random weights, the same on every machine: integer hashing (SplitMix64) of seed, tensor and
/// element, uniform with variance 1 / in (embeddings: 1), so that activations keep their size
/// through the layers. Norms are 1. `config` must be valid.
Weights random_weights(const LlamaConfig& config, std::uint64_t seed);

/// The weights in a Hugging Face checkpoint folder (model.safetensors, or the files that
/// model.safetensors.index.json names), converted to fp32. Throws CheckpointError when a tensor is
/// missing, damaged, or not of the shape that `config` says.
Weights load_weights(const LlamaConfig& config, const std::filesystem::path& folder);

}  // namespace syncopate::models::llama
