#include "backend/ulysses/rank_streams.h"

namespace syncopate::ulysses {

RankStreams make_rank_streams(runtime::Runtime& runtime, runtime::Device device) {
  const auto make = [&](const char* label) {
    return runtime.make_stream(device, runtime::StreamKind::kNonBlocking, label);
  };
  return {make("input"), make("output"), make("own_input"), make("own_output")};
}

}  // namespace syncopate::ulysses
