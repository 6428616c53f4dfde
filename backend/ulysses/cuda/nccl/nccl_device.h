// The packed transport on GPUs: relayout kernels of ours, and NCCL's grouped sends and receives.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/ulysses/packed_communicator.h"

namespace syncopate::ulysses::cuda {

/// Device d of the runtime is GPU d mod `gpus`. Make it before the runtime, whose graphs hold its
/// communicators: a communicator goes only after the graphs that use it.
///
/// Kernels are loaded at once, on all GPUs. Communicators are made and connected when a group is:
/// one for scatters and one for gathers, which all groups of as many ranks share. All ranks must
/// enqueue their exchanges in the same order: two communicators on a device may wait for each other
/// otherwise. Throws CudaError; exchange() throws UlyssesError kUnsupported for ranks that share a
/// GPU, which NCCL does not take. Making is for one thread; bodies may run on any.
std::unique_ptr<PackedDevice> make_nccl_device(int gpus);

/// Kernels that copy rows on a device: all that is ever compiled, for any shape.
int relayout_kernels();

}  // namespace syncopate::ulysses::cuda
