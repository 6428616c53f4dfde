// Checked calls into cuBLAS.
#pragma once

#include <cublasLt.h>

#include <string>

#include "backend/runtime/error.h"

namespace syncopate::models::llama {

/// A call into cuBLAS failed. The text has the call as written, its place in the source, and the
/// library's name for what is wrong.
class CublasError : public runtime::Error {
 public:
  CublasError(const std::string& text, cublasStatus_t status) : Error(text), status_(status) {}
  cublasStatus_t status() const { return status_; }

 private:
  cublasStatus_t status_;
};

[[noreturn]] void throw_failed_cublas_call(cublasStatus_t status, const char* call,
                                           const char* file, int line);

inline void check_cublas_call(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw_failed_cublas_call(status, call, file, line);
}

}  // namespace syncopate::models::llama

/// Throws CublasError unless `call` succeeds.
#define SYNCOPATE_CUBLAS_CALL(call) \
  ::syncopate::models::llama::check_cublas_call((call), #call, __FILE__, __LINE__)
