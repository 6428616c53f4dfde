// Workspaces allocated in each pass and not once: what it costs to do without reuse.
//
// Other ranks write into a workspace. All that they wrote in the last pass a rank has waited for,
// so once its own stream is done its memory may go. But nobody may write again before all know the
// new place, and that takes a meeting of all ranks' hosts.
#pragma once

#include <cstdint>
#include <span>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/rendezvous.h"

namespace syncopate::ulysses {

/// Shared by all ranks. renew() is called by each rank's host before each of its passes.
class WorkspaceRenewal {
 public:
  /// Makes its flags: before the run, from one thread.
  WorkspaceRenewal(runtime::Runtime& runtime, std::uint32_t world);

  /// Blocks until `caller` is done, which all that this rank did with `buffers` must be in or
  /// waited for there; gives them new memory; blocks until every rank has done so.
  void renew(runtime::Host& host, runtime::Stream caller, std::span<const runtime::Buffer> buffers);

 private:
  Rendezvous renewed_;
};

}  // namespace syncopate::ulysses
