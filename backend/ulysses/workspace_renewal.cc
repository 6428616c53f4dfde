#include "backend/ulysses/workspace_renewal.h"

namespace syncopate::ulysses {

WorkspaceRenewal::WorkspaceRenewal(runtime::Runtime& runtime, std::uint32_t world)
    : world_(world), rounds_(world, 0) {
  for (std::uint32_t i = 0; i < world * world; ++i) renewed_.push_back(runtime.make_flag());
}

void WorkspaceRenewal::renew(runtime::Host& host, runtime::Stream caller,
                             std::span<const runtime::Buffer> buffers) {
  host.synchronize(caller, "renewal.block_idle");
  for (const runtime::Buffer buffer : buffers) host.renew(buffer, "renew");

  const std::uint32_t rank = host.device().id;
  const std::uint64_t round = ++rounds_[rank];
  for (std::uint32_t other = 0; other < world_; ++other) {
    if (other == rank) continue;
    host.signal(caller, renewed_[other * world_ + rank], round, "renewal.signal");
  }
  for (std::uint32_t other = 0; other < world_; ++other) {
    if (other == rank) continue;
    host.wait(caller, renewed_[rank * world_ + other], round, "renewal.wait");
  }
  // Where a copy goes is looked up when it is enqueued, so the stream's wait is not enough.
  host.synchronize(caller, "renewal.block_renewed");
}

}  // namespace syncopate::ulysses
