// The streams of a rank beside its caller's.
#pragma once

#include "backend/runtime/runtime.h"

namespace syncopate::ulysses {

/// Passes of one rank that are never under way at the same time may share them, and should where
/// there are many: on a GPU a stream that a flag holds keeps a hardware queue, of which there are
/// few (CudaEngine), and streams beyond them share one and are held as well.
struct RankStreams {
  runtime::Stream input, output;          ///< Of kChunkOverlap: scatters, gathers.
  runtime::Stream own_input, own_output;  ///< Of the peer transport: a rank's own part of each.
};

/// Makes them on `device`. Before the run, from one thread.
RankStreams make_rank_streams(runtime::Runtime& runtime, runtime::Device device);

}  // namespace syncopate::ulysses
