// CUDA sides of the kernels that models share. In builds without CUDA they are empty (none.cc).
#pragma once

#include "backend/models/batch_layout.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models {

/// The CUDA side of carry_kernel (backend/models/carry.h). `layout` must outlive the run.
runtime::Body cuda_carry_body(const BatchLayout* layout, runtime::Buffer inputs,
                              runtime::Buffer previous_outputs);

}  // namespace syncopate::models
