#include "backend/cpu/failure.h"

#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::cpu {

void Failure::operation_failed(std::string operation, std::string reason) {
  fail(Cause::kOperation, std::move(operation), std::move(reason), nullptr);
}

void Failure::deadlocked(std::string report) {
  fail(Cause::kDeadlock, {}, std::move(report), nullptr);
}

void Failure::host_failed(int host, std::exception_ptr error) {
  std::string reason;
  try {
    std::rethrow_exception(error);
  } catch (...) {
    reason = current_reason();
  }
  fail(Cause::kHost, "host " + std::to_string(host), std::move(reason), std::move(error));
}

void Failure::fail(Cause cause, std::string subject, std::string reason, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (cause_ != Cause::kNone) return;
  cause_ = cause;
  subject_ = std::move(subject);
  reason_ = std::move(reason);
  host_error_ = std::move(error);
  stop();
}

// A fresh exception for every thread: one object thrown in several would be shared between them.
void Failure::throw_to_host() const {
  const std::lock_guard lock(mutex_);
  switch (cause_) {
    case Cause::kOperation:
      throw runtime::OperationError(subject_, reason_);
    case Cause::kDeadlock:
      throw runtime::DeadlockError(reason_);
    case Cause::kHost:
      throw runtime::Error("stopped, since " + subject_ + " failed: " + reason_);
    case Cause::kNone:
      break;
  }
  throw runtime::Error("the engine has stopped");
}

void Failure::rethrow() const {
  if (!stopped()) return;
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = host_error_;
  }
  if (error) std::rethrow_exception(error);
  throw_to_host();
}

std::string current_reason() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of a type not derived from std::exception";
  }
}

}  // namespace syncopate::cpu
