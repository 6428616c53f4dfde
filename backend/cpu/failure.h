// Failure: the first thing that went wrong in a run, and the signal for all threads to stop.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>

namespace syncopate::cpu {

/// Only the first failure is kept: what follows are consequences. stopped() is a relaxed load and
/// orders nothing; the lock is taken on the way to an error only. Thread-safe.
class Failure {
 public:
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  void operation_failed(std::string operation, std::string reason);
  void deadlocked(std::string report);
  void host_failed(int host, std::exception_ptr error);
  /// Stops without a failure: the engine is being destroyed.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  /// For a host in a call of the engine: throws when the run has stopped. OperationError or
  /// DeadlockError when that is the cause; runtime::Error when another host threw.
  void check() const {
    if (stopped()) throw_to_host();
  }
  /// For the end of the run: as check(), but a host's own exception comes out as it was thrown.
  void rethrow() const;

 private:
  enum class Cause { kNone, kOperation, kDeadlock, kHost };

  void fail(Cause cause, std::string subject, std::string reason, std::exception_ptr error);
  [[noreturn]] void throw_to_host() const;

  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;  // guards what follows
  Cause cause_ = Cause::kNone;
  std::string subject_;
  std::string reason_;
  std::exception_ptr host_error_;
};

/// The text of the exception being handled. Call it inside a catch block.
std::string current_reason();

}  // namespace syncopate::cpu
