#include "backend/ulysses/cuda/nccl/nccl_device.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "backend/ulysses/cuda/nccl/nccl_exchange.h"
#include "backend/ulysses/cuda/nccl/relayout.h"
#include "backend/ulysses/error.h"

namespace syncopate::ulysses::cuda {

namespace {

struct RelayoutArgs {
  const PackedMove* moves;
  std::size_t count;
  Given given;
};

void relayout(runtime::Exec& exec, const RelayoutArgs& args) {
  auto* const stream = static_cast<cudaStream_t>(exec.native());
  std::array<RowCopy, kRowCopies> copies;
  std::size_t count = 0;
  for (const PackedMove& packed : PackedMoves(args.moves, args.count)) {
    const Move move = packed.with(args.given);
    copies[count++] = {exec.data<const std::byte>(move.from.buffer) + move.from.offset,
                       exec.data<std::byte>(move.to.buffer) + move.to.offset,
                       move.from.pitch,
                       move.to.pitch,
                       move.from.width,
                       move.from.rows};
    if (count < copies.size()) continue;
    copy_rows(copies, stream);
    count = 0;
  }
  if (count > 0) copy_rows(std::span(copies).first(count), stream);
}

class NcclDevice final : public PackedDevice {
 public:
  explicit NcclDevice(int gpus) : gpus_(static_cast<std::uint32_t>(gpus)) {
    const KeptDevice kept;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      SYNCOPATE_CUDA_CALL(cudaSetDevice(gpu));
      load_relayout_kernels();
    }
  }

  runtime::Body copy_rows(PackedMoves moves, const Given& given) const override {
    return runtime::Body::of<relayout>(RelayoutArgs{moves.data(), moves.size(), given});
  }

  const DeviceExchange& exchange(std::uint32_t world, PackedUse use) override {
    if (world > gpus_) {
      throw UlyssesError(
          Fault::kUnsupported,
          fmt::format("NCCL takes one rank a GPU: ranks 0 and {} share GPU 0", gpus_));
    }
    std::unique_ptr<NcclExchange>& exchange = exchanges_[{world, use}];
    if (exchange == nullptr) {
      std::vector<int> gpus;
      for (std::uint32_t rank = 0; rank < world; ++rank) gpus.push_back(static_cast<int>(rank));
      exchange = std::make_unique<NcclExchange>(gpus);
    }
    return *exchange;
  }

 private:
  std::uint32_t gpus_;
  std::map<std::pair<std::uint32_t, PackedUse>, std::unique_ptr<NcclExchange>> exchanges_;
};

}  // namespace

std::unique_ptr<PackedDevice> make_nccl_device(int gpus) {
  return std::make_unique<NcclDevice>(gpus);
}

}  // namespace syncopate::ulysses::cuda
