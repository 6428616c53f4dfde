#include "backend/ulysses/benchmark/samples.h"

#include <string_view>

#include "backend/ulysses/benchmark/benchmark.h"

namespace syncopate::ulysses {

using runtime::kUnknownTime;
using runtime::Operation;

std::vector<Sample> samples(const runtime::Timeline& timeline, const Rotation& rotation) {
  const std::size_t ranks = timeline.hosts;
  const std::size_t steps = rotation.steps();
  std::vector<const Operation*> begins(steps * ranks), ends(steps * ranks);
  for (const Operation& op : timeline.operations) {
    if (op.step < 0 || op.start == kUnknownTime) continue;
    const std::size_t at = static_cast<std::size_t>(op.step) * ranks + op.host;
    if (at >= begins.size()) continue;
    if (op.name == std::string_view(Benchmark::kBeginMark)) begins[at] = &op;
    if (op.name == std::string_view(Benchmark::kEndMark)) ends[at] = &op;
  }
  std::vector<Sample> out;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const Operation* begin = begins[step * ranks + rank];
      const Operation* end = ends[step * ranks + rank];
      if (begin == nullptr || end == nullptr) {
        out.resize(step * ranks);
        return out;
      }
      out.push_back({step, static_cast<std::uint32_t>(rank), end->start - begin->end,
                     end->issue_begin - begin->issue_end});
    }
  }
  return out;
}

}  // namespace syncopate::ulysses
