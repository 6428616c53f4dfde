// The transformer's parameters: which there are, their sizes, and their names in a checkpoint. What
// reads or makes weights, on whatever side, walks this one list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/models/llama/config.h"

namespace syncopate::models::llama {

/// A tensor of a Hugging Face checkpoint.
struct ParameterTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t first = 0;  ///< The element of the parameter that it begins at.
};

/// A parameter as a linear layer or a norm wants it: [out, in] row-major; a norm is one row.
struct Parameter {
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  double variance = 0.0;                 ///< Of random values. 0: a norm, which is all 1.
  std::vector<ParameterTensor> tensors;  ///< One below the other they are the parameter.

  std::uint64_t size() const { return std::uint64_t{out} * in; }
};

/// Tensors of `rows` rows each; those of one parameter have equal columns.
struct TensorRows {
  std::string name;
  std::uint32_t rows;
};

/// Random values have `gain` / in as their variance, so that a gain of 1 keeps the size of
/// activations.
Parameter matrix_parameter(std::uint32_t in, const std::vector<TensorRows>& tensors,
                           double gain = 1.0);
Parameter norm_parameter(const std::string& name, std::uint32_t size);

/// Calls visit(member, parameter) for each parameter that `config` has, always in this order.
/// `weights` is a struct with the members of Weights (weights.h), of whatever types; it gets as
/// many layers as there are.
template <class AnyWeights, class Visit>
void visit_parameters(const LlamaConfig& config, AnyWeights& weights, Visit&& visit) {
  const std::uint32_t hidden = config.hidden;
  // Each row of the embedding is an activation itself.
  visit(weights.embedding,
        matrix_parameter(hidden, {{"model.embed_tokens.weight", config.vocab}}, hidden));
  weights.layers.resize(config.layers);
  for (std::uint32_t l = 0; l < config.layers; ++l) {
    auto& layer = weights.layers[l];
    const std::string prefix = "model.layers." + std::to_string(l) + ".";
    const std::string attention = prefix + "self_attn.";
    const std::string mlp = prefix + "mlp.";
    visit(layer.attention_norm, norm_parameter(prefix + "input_layernorm.weight", hidden));
    visit(layer.qkv, matrix_parameter(hidden, {{attention + "q_proj.weight", config.query_size()},
                                               {attention + "k_proj.weight", config.kv_size()},
                                               {attention + "v_proj.weight", config.kv_size()}}));
    visit(layer.attention_out,
          matrix_parameter(config.query_size(), {{attention + "o_proj.weight", hidden}}));
    visit(layer.mlp_norm, norm_parameter(prefix + "post_attention_layernorm.weight", hidden));
    visit(layer.gate_up, matrix_parameter(hidden, {{mlp + "gate_proj.weight", config.intermediate},
                                                   {mlp + "up_proj.weight", config.intermediate}}));
    visit(layer.down, matrix_parameter(config.intermediate, {{mlp + "down_proj.weight", hidden}}));
  }
  visit(weights.final_norm, norm_parameter("model.norm.weight", hidden));
  if (!config.tied_embeddings)
    visit(weights.head, matrix_parameter(hidden, {{"lm_head.weight", config.vocab}}));
}

}  // namespace syncopate::models::llama
