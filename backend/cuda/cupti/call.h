// Checked calls of CUPTI, as SYNCOPATE_CUDA_CALL (backend/cuda/call.h) makes those of CUDA.
#pragma once

#include <cupti.h>

#include "backend/cuda/call.h"

namespace syncopate::cuda {

inline void check_call(CUptiResult status, const char* call, const char* file, int line) {
  if (status == CUPTI_SUCCESS) [[likely]]
    return;
  const char* name = nullptr;
  const char* message = nullptr;
  cuptiGetResultString(status, &name);
  cuptiGetErrorMessage(status, &message);
  throw_failed_call(name, message, status, call, file, line);
}

}  // namespace syncopate::cuda
