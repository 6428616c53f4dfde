#include "backend/ulysses/workspace_renewal.h"

namespace syncopate::ulysses {

WorkspaceRenewal::WorkspaceRenewal(runtime::Runtime& runtime, std::uint32_t world)
    : renewed_(runtime, world) {}

void WorkspaceRenewal::renew(runtime::Host& host, runtime::Stream caller,
                             std::span<const runtime::Buffer> buffers) {
  host.synchronize(caller, "renewal.block_idle");
  for (const runtime::Buffer buffer : buffers) host.renew(buffer, "renew");
  renewed_.meet(host, caller);
}

}  // namespace syncopate::ulysses
