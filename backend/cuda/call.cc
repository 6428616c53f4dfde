#include "backend/cuda/call.h"

namespace syncopate::cuda {
namespace {

[[noreturn]] void throw_error(const char* name, const char* message, int code, const char* call,
                              const char* file, int line) {
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call +
                      " failed: " + message + " (" + name + ")",
                  code);
}

}  // namespace

void throw_failed_call(cudaError_t status, const char* call, const char* file, int line) {
  // The runtime keeps the last error of the thread: left there, it would be blamed on the next
  // kernel that is launched.
  cudaGetLastError();
  throw_error(cudaGetErrorName(status), cudaGetErrorString(status), status, call, file, line);
}

void throw_failed_call(CUresult status, const char* call, const char* file, int line) {
  const char* name = nullptr;
  const char* message = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &message);
  throw_error(name ? name : "unknown CUresult", message ? message : "no description", status, call,
              file, line);
}

}  // namespace syncopate::cuda
