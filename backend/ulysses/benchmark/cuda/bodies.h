// CUDA sides of a benchmark's kernels. In builds without CUDA they are empty (none.cc).
#pragma once

#include <cstdint>

#include "backend/runtime/kernel.h"
#include "backend/ulysses/benchmark/inputs.h"

namespace syncopate::ulysses {

struct PoisonArgs {
  runtime::Buffer buffer;
  std::uint64_t bytes = 0;
};

runtime::Body cuda_fill_body(const InputPart& part);
runtime::Body cuda_poison_body(const PoisonArgs& args);

}  // namespace syncopate::ulysses
