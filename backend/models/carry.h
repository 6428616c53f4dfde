// Carry-over: the ids that step N sampled become inputs of step N+1 without passing by the host.
#pragma once

#include "backend/models/batch_layout.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models {

/// For every row r with carry[r] >= 0: the id of the row's last token in `inputs` becomes
/// previous_outputs[carry[r]]. A select, not an addition onto a placeholder of 0: it is idempotent,
/// and right when the host already knew the id. Reads and writes `inputs`, reads
/// `previous_outputs` (next_id[rows] of the step before). `layout` must outlive the run.
/// The CUDA side is present in builds with CUDA.
runtime::Kernel carry_kernel(const BatchLayout& layout, runtime::Buffer inputs,
                             runtime::Buffer previous_outputs);

}  // namespace syncopate::models
