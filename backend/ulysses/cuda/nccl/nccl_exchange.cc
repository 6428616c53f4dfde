#include "backend/ulysses/cuda/nccl/nccl_exchange.h"

#include "backend/cuda/memory.h"
#include "backend/cuda/stream.h"

namespace syncopate::ulysses::cuda {

namespace {

/// Sends and receives between begin and end run as one kernel, in no order, so that none waits for
/// another. Left open by an error, a group would take in all later calls of the thread.
class NcclCalls {
 public:
  NcclCalls() { SYNCOPATE_NCCL_CALL(ncclGroupStart()); }
  ~NcclCalls() {
    if (open_) static_cast<void>(ncclGroupEnd());
  }
  NcclCalls(const NcclCalls&) = delete;
  NcclCalls& operator=(const NcclCalls&) = delete;
  void end() {
    open_ = false;
    SYNCOPATE_NCCL_CALL(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

struct ExchangeArgs {
  ncclComm_t communicator;
  const PackedMove* sends;
  const PackedMove* receives;
  std::uint32_t sent, received;
  Given given;
};

// NCCL matches the calls of two ranks in their order: both lists have a peer's in that of Q, K, V.
void exchange_moves(runtime::Exec& exec, const ExchangeArgs& args) {
  auto* const stream = static_cast<cudaStream_t>(exec.native());
  NcclCalls calls;
  for (const PackedMove& packed : PackedMoves(args.sends, args.sent)) {
    const runtime::Region from = packed.with(args.given).from;
    SYNCOPATE_NCCL_CALL(ncclSend(exec.data<const std::byte>(from.buffer) + from.offset,
                                 from.bytes(), ncclInt8, packed.peer, args.communicator, stream));
  }
  for (const PackedMove& packed : PackedMoves(args.receives, args.received)) {
    const runtime::Region to = packed.with(args.given).to;
    SYNCOPATE_NCCL_CALL(ncclRecv(exec.data<std::byte>(to.buffer) + to.offset, to.bytes(), ncclInt8,
                                 packed.peer, args.communicator, stream));
  }
  calls.end();
}

}  // namespace

NcclExchange::NcclExchange(const std::vector<int>& gpus)
    : gpus_(gpus), communicators_(gpus.size(), nullptr) {
  const KeptDevice kept;
  SYNCOPATE_NCCL_CALL(
      ncclCommInitAll(communicators_.data(), static_cast<int>(gpus.size()), gpus.data()));
  connect();
}

NcclExchange::~NcclExchange() {
  for (const ncclComm_t communicator : communicators_) {
    static_cast<void>(ncclCommDestroy(communicator));
  }
}

// NCCL connects two ranks, with all the channels that they will use, at their first send. In a
// capture that fails.
void NcclExchange::connect() {
  std::vector<syncopate::cuda::OwnedStream> streams;
  std::vector<syncopate::cuda::DeviceMemory> memory;
  for (const int gpu : gpus_) {
    SYNCOPATE_CUDA_CALL(cudaSetDevice(gpu));
    streams.push_back(syncopate::cuda::make_stream(runtime::StreamKind::kNonBlocking));
    memory.push_back(syncopate::cuda::make_device_memory(2 * gpus_.size()));
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  }
  NcclCalls calls;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
    SYNCOPATE_CUDA_CALL(cudaSetDevice(gpus_[rank]));
    auto* const bytes = static_cast<std::byte*>(memory[rank].get());
    for (std::size_t peer = 0; peer < gpus_.size(); ++peer) {
      SYNCOPATE_NCCL_CALL(ncclSend(bytes + peer, 1, ncclInt8, static_cast<int>(peer),
                                   communicators_[rank], streams[rank].get()));
      SYNCOPATE_NCCL_CALL(ncclRecv(bytes + gpus_.size() + peer, 1, ncclInt8, static_cast<int>(peer),
                                   communicators_[rank], streams[rank].get()));
    }
  }
  calls.end();
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
    SYNCOPATE_CUDA_CALL(cudaSetDevice(gpus_[rank]));
    SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(streams[rank].get()));
  }
}

runtime::Body NcclExchange::body(std::uint32_t rank, PackedMoves sends, PackedMoves receives,
                                 const Given& given) const {
  return runtime::Body::of<exchange_moves>(ExchangeArgs{
      communicators_[rank], sends.data(), receives.data(), static_cast<std::uint32_t>(sends.size()),
      static_cast<std::uint32_t>(receives.size()), given});
}

}  // namespace syncopate::ulysses::cuda
