#include "backend/models/llama/weights.h"

#include <algorithm>

#include "backend/models/llama/checkpoint.h"
#include "backend/models/llama/parameters.h"
#include "backend/models/llama/random_tensor.h"

namespace syncopate::models::llama {
namespace {

float* make_room(Matrix& matrix, const Parameter& parameter) {
  matrix = Matrix(parameter.out, parameter.in);
  return matrix.values.data();
}

float* make_room(std::vector<float>& norm, const Parameter& parameter) {
  norm.resize(parameter.in);
  return norm.data();
}

}  // namespace

Weights random_weights(const LlamaConfig& config, std::uint64_t seed) {
  Weights weights;
  std::uint64_t matrices = 0;
  visit_parameters(config, weights, [&](auto& member, const Parameter& parameter) {
    float* values = make_room(member, parameter);
    if (parameter.variance == 0.0) {
      std::fill_n(values, parameter.size(), 1.0f);
      return;
    }
    const RandomTensor random(seed, ++matrices, parameter.variance);
    for (std::uint64_t i = 0; i < parameter.size(); ++i) values[i] = random[i];
  });
  return weights;
}

Weights load_weights(const LlamaConfig& config, const std::filesystem::path& folder) {
  const Checkpoint checkpoint(folder);
  Weights weights;
  visit_parameters(config, weights, [&](auto& member, const Parameter& parameter) {
    float* values = make_room(member, parameter);
    for (const ParameterTensor& tensor : parameter.tensors) {
      const FloatTensor found = checkpoint.find(tensor.name, tensor.shape);
      found.read(0, {values + tensor.first, found.size()});
    }
  });
  return weights;
}

}  // namespace syncopate::models::llama
