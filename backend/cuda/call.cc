#include "backend/cuda/call.h"

namespace syncopate::cuda {

void throw_failed_call(const char* name, const char* message, int code, const char* call,
                       const char* file, int line) {
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call +
                      " failed: " + (message ? message : "no description") + " (" +
                      (name ? name : "unknown code") + ")",
                  code);
}

void throw_failed_call(cudaError_t status, const char* call, const char* file, int line) {
  // The runtime keeps the last error of the thread: left there, it would be blamed on the next
  // kernel that is launched.
  cudaGetLastError();
  throw_failed_call(cudaGetErrorName(status), cudaGetErrorString(status), status, call, file, line);
}

void throw_failed_call(CUresult status, const char* call, const char* file, int line) {
  const char* name = nullptr;
  const char* message = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &message);
  throw_failed_call(name, message, status, call, file, line);
}

}  // namespace syncopate::cuda
