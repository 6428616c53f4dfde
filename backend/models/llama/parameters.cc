#include "backend/models/llama/parameters.h"

namespace syncopate::models::llama {

Parameter matrix_parameter(std::uint32_t in, const std::vector<TensorRows>& tensors, double gain) {
  Parameter parameter{.out = 0, .in = in, .variance = gain / in, .tensors = {}};
  for (const TensorRows& tensor : tensors) {
    parameter.tensors.push_back({tensor.name, {tensor.rows, in}, parameter.size()});
    parameter.out += tensor.rows;
  }
  return parameter;
}

Parameter norm_parameter(const std::string& name, std::uint32_t size) {
  return {.out = 1, .in = size, .variance = 0.0, .tensors = {{name, {size}}}};
}

}  // namespace syncopate::models::llama
