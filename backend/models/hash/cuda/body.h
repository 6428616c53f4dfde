// The CUDA side of the hash model's forward pass. In builds without CUDA it is empty (none.cc).
#pragma once

#include "backend/models/hash/hash_model.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models::hash {

/// Gives the same bits as the host side. `args.layout` must outlive the run.
runtime::Body cuda_forward_body(const ForwardArgs& args);

}  // namespace syncopate::models::hash
