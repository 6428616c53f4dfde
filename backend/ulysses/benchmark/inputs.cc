#include "backend/ulysses/benchmark/inputs.h"

#include <cstddef>
#include <cstring>

#include "backend/ulysses/benchmark/cuda/bodies.h"

namespace syncopate::ulysses {
namespace {

template <class T>
void fill_part(runtime::Exec& exec, const InputPart& part) {
  auto* to = reinterpret_cast<T*>(exec.data<std::byte>(part.buffer) + part.offset);
  for (std::uint64_t b = 0; b < part.batch; ++b) {
    const std::uint64_t first = (b * part.all_tokens + part.first_token) * part.row;
    const std::uint64_t count = std::uint64_t{part.tokens} * part.row;
    for (std::uint64_t i = 0; i < count; ++i) {
      *to++ = from_float<T>(input_value(part.seed, part.tensor, first + i));
    }
  }
}

void poison(runtime::Exec& exec, const PoisonArgs& args) {
  std::memset(exec.data<std::byte>(args.buffer), 0xff, args.bytes);
}

struct NoArgs {};
void nothing(runtime::Exec&, const NoArgs&) {}

}  // namespace

runtime::Kernel fill_kernel(const InputPart& part) {
  return with_element(part.type, [&]<class T>() -> runtime::Kernel {
    return {.host = runtime::Body::of<fill_part<T>>(part), .cuda = cuda_fill_body(part)};
  });
}

runtime::Kernel poison_kernel(runtime::Buffer buffer, std::uint64_t bytes) {
  const PoisonArgs args = {buffer, bytes};
  return {.host = runtime::Body::of<poison>(args), .cuda = cuda_poison_body(args)};
}

runtime::Kernel mark_kernel() {
  const auto body = runtime::Body::of<nothing>(NoArgs{});
  return {.host = body, .cuda = body};
}

}  // namespace syncopate::ulysses
