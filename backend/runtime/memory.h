// What an operation touches: byte ranges of buffers. Declared by programs, checked by analysis.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/runtime/handles.h"

namespace syncopate::runtime {

/// One declared access: bytes [begin, end) of `buffer`, read or written (an update is a read and a
/// write). Kernels and host spans reach memory only through what they declare.
///
/// With `width` it is rows with gaps between them: `width` bytes at begin, at begin + pitch, and so
/// on, the last of which ends at `end`. Bands of one tensor interleave without touching each other.
struct Access {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Buffer buffer;
  bool write = false;
  std::uint32_t pitch = 0;  ///< > width, where there is one.
  std::uint32_t width = 0;  ///< 0: all of [begin, end).
};

/// A 2-D region of a buffer, in bytes: `rows` rows of `width` bytes, `pitch` bytes from one row's
/// start to the next one's, the first at `offset`. A flat range has one row.
struct Region {
  Buffer buffer;
  std::uint64_t offset = 0;
  std::uint64_t width = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;

  static Region flat(Buffer buffer, std::uint64_t offset, std::uint64_t bytes) {
    return {buffer, offset, bytes, 1, bytes};
  }
  std::uint64_t bytes() const { return width * rows; }
  /// One past the last byte touched.
  std::uint64_t end() const { return rows == 0 ? offset : offset + (rows - 1) * pitch + width; }
};

/// The region as one access: rows with gaps where there are gaps. A pitch that 32 bits do not hold
/// leaves the range around all rows, which is more than is touched.
Access access_of(const Region& region, bool write);

/// A range of bytes that is not empty.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// overlap() of two accesses whose outer ranges meet.
std::optional<ByteRange> overlap_of_rows(const Access& a, const Access& b);

/// The first bytes that both accesses touch, whether they read or write; none when they share no
/// byte. Takes constant time where one has no gaps or both have the same pitch, else the time of
/// `a`'s rows.
inline std::optional<ByteRange> overlap(const Access& a, const Access& b) {
  if (a.buffer != b.buffer || a.begin >= b.end || b.begin >= a.end) return {};
  return overlap_of_rows(a, b);
}

/// Reads and writes in the short form that programs use: read(buffer, begin, end).
inline Access read(Buffer buffer, std::uint64_t begin, std::uint64_t end) {
  return {begin, end, buffer, false};
}
inline Access write(Buffer buffer, std::uint64_t begin, std::uint64_t end) {
  return {begin, end, buffer, true};
}

}  // namespace syncopate::runtime
