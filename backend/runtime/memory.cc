#include "backend/runtime/memory.h"

#include <algorithm>

namespace syncopate::runtime {
namespace {

/// The first bytes of `access` in [begin, end), which must lie within the access.
std::optional<ByteRange> first_bytes(const Access& access, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return {};
  if (access.width == 0) return ByteRange{begin, end};
  std::uint64_t row = access.begin + (begin - access.begin) / access.pitch * access.pitch;
  if (row + access.width <= begin) row += access.pitch;  // begin lies in the gap behind it
  if (row >= end) return {};
  return ByteRange{std::max(row, begin), std::min(row + access.width, end)};
}

}  // namespace

Access access_of(const Region& region, bool write) {
  Access access{region.offset, region.end(), region.buffer, write};
  const bool gaps = region.rows > 1 && region.width > 0 && region.pitch > region.width;
  if (gaps && region.pitch <= UINT32_MAX) {
    access.pitch = static_cast<std::uint32_t>(region.pitch);
    access.width = static_cast<std::uint32_t>(region.width);
  }
  return access;
}

std::optional<ByteRange> overlap_of_rows(const Access& a, const Access& b) {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  const std::uint64_t end = std::min(a.end, b.end);
  if (begin >= end) return {};
  if (a.width == 0) return first_bytes(b, begin, end);
  if (b.width == 0) return first_bytes(a, begin, end);
  // Row by row of `a`. With equal pitches all rows see the same of `b`, but for the first, which
  // may begin before it.
  std::uint64_t from = begin;
  for (int row = 0; row < 2 || a.pitch != b.pitch; ++row) {
    const std::optional<ByteRange> mine = first_bytes(a, from, end);
    if (!mine) return {};
    if (const auto both = first_bytes(b, mine->begin, mine->end)) return both;
    from = mine->end;
  }
  return {};
}

}  // namespace syncopate::runtime
