// Stands in for inputs.cu in builds without CUDA.
#include "backend/ulysses/benchmark/cuda/bodies.h"

namespace syncopate::ulysses {

runtime::Body cuda_fill_body(const InputPart&) { return {}; }
runtime::Body cuda_poison_body(const PoisonArgs&) { return {}; }

}  // namespace syncopate::ulysses
