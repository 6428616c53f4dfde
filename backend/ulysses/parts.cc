#include "backend/ulysses/parts.h"

#include "backend/runtime/error.h"

namespace syncopate::ulysses {

const char* to_string(Part part) {
  switch (part) {
    case Part::kInput:
      return "input";
    case Part::kAttention:
      return "attention";
    case Part::kOutput:
      return "output";
    case Part::kFirstInput:
      return "first_input";
    case Part::kLastOutput:
      return "last_output";
  }
  throw runtime::UsageError("to_string: not a part");
}

void enqueue_part(runtime::Host& host, runtime::Stream stream, RankPass& pass, Part part) {
  switch (part) {
    case Part::kInput:
      for (std::uint32_t band = 0; band < pass.bands(); ++band) pass.scatter(host, stream, band);
      return;
    case Part::kAttention:
      for (std::uint32_t band = 0; band < pass.bands(); ++band) pass.attend(host, stream, band);
      return;
    case Part::kOutput:
      for (std::uint32_t band = 0; band < pass.bands(); ++band) pass.gather(host, stream, band);
      return;
    case Part::kFirstInput:
      return pass.scatter(host, stream, 0);
    case Part::kLastOutput:
      return pass.gather(host, stream, pass.bands() - 1);
  }
}

}  // namespace syncopate::ulysses
