#include "backend/cpu/action.h"

#include <cstring>

namespace syncopate::cpu {

void RowCopy::operator()() const {
  if (width == dst_pitch && width == src_pitch) {
    std::memcpy(dst, src, width * rows);
    return;
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::memcpy(dst + row * dst_pitch, src + row * src_pitch, width);
  }
}

}  // namespace syncopate::cpu
