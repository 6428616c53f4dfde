// Typed errors of the seam. A library throws; only the command line turns an error into an exit
// status.
#pragma once

#include <stdexcept>
#include <string>

namespace syncopate::runtime {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller broke a rule of the interface: a handle of another runtime, a capture rule, a kernel
/// without a body for this runtime, a region past its buffer's end.
class UsageError : public Error {
  using Error::Error;
};

/// No host can run and no operation is left that could wake one. The text names each stream's
/// position and what it waits for.
class DeadlockError : public Error {
  using Error::Error;
};

/// An operation failed while it ran; `operation()` is its name. The streams are stopped, the
/// timeline up to then is kept.
class OperationError : public Error {
 public:
  OperationError(std::string operation, const std::string& reason)
      : Error("operation '" + operation + "' failed: " + reason),
        operation_(std::move(operation)) {}
  const std::string& operation() const { return operation_; }

 private:
  std::string operation_;
};

/// The runtime needs something that this machine or build lacks: a CUDA device, pinned memory.
class UnavailableError : public Error {
  using Error::Error;
};

}  // namespace syncopate::runtime
