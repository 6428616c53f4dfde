// What an operation touches: byte ranges of buffers. Declared by programs, checked by analysis.
#pragma once

#include <cstdint>

#include "backend/runtime/handles.h"

namespace syncopate::runtime {

/// One declared access: bytes [begin, end) of `buffer`, read or written (an update is a read and a
/// write). Kernels and host spans reach memory only through what they declare.
struct Access {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Buffer buffer;
  bool write = false;
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

/// Reads and writes in the short form that programs use: read(buffer, begin, end).
inline Access read(Buffer buffer, std::uint64_t begin, std::uint64_t end) {
  return {begin, end, buffer, false};
}
inline Access write(Buffer buffer, std::uint64_t begin, std::uint64_t end) {
  return {begin, end, buffer, true};
}

}  // namespace syncopate::runtime
