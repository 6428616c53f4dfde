#include "backend/models/llama/cuda/gemm_call.h"

namespace syncopate::models::llama {

void throw_failed_cublas_call(cublasStatus_t status, const char* call, const char* file, int line) {
  throw CublasError(std::string(file) + ":" + std::to_string(line) + ": " + call +
                        " failed: " + cublasLtGetStatusString(status) + " (" +
                        cublasLtGetStatusName(status) + ")",
                    status);
}

}  // namespace syncopate::models::llama
