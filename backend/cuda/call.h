// Checked calls: every call into CUDA's runtime or driver goes through one macro.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "backend/runtime/error.h"

namespace syncopate::cuda {

/// A call into CUDA failed. The text has the call as written, its place in the source, and what
/// CUDA says. A kernel that faults is reported by a later call, and CUDA does not say which kernel
/// it was; all calls after it fail too.
class CudaError : public runtime::Error {
 public:
  CudaError(const std::string& text, int code) : Error(text), code_(code) {}
  /// The cudaError_t, CUresult or CUptiResult.
  int code() const { return code_; }

 private:
  int code_;
};

[[noreturn]] void throw_failed_call(cudaError_t status, const char* call, const char* file,
                                    int line);
[[noreturn]] void throw_failed_call(CUresult status, const char* call, const char* file, int line);
/// `name` and `message` are the library's own, null where it has none.
[[noreturn]] void throw_failed_call(const char* name, const char* message, int code,
                                    const char* call, const char* file, int line);

inline void check_call(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) [[unlikely]]
    throw_failed_call(status, call, file, line);
}
inline void check_call(CUresult status, const char* call, const char* file, int line) {
  if (status != CUDA_SUCCESS) [[unlikely]]
    throw_failed_call(status, call, file, line);
}

}  // namespace syncopate::cuda

/// Throws CudaError unless `call`, of the runtime or the driver API, succeeds.
#define SYNCOPATE_CUDA_CALL(call) ::syncopate::cuda::check_call((call), #call, __FILE__, __LINE__)
