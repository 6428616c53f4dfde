// Handles: small values that name what a runtime owns. Copy them freely; they own nothing. A handle
// is valid from its creation to the end of its Runtime, on every host of it.
#pragma once

#include <compare>
#include <cstdint>

namespace syncopate::runtime {

/// Nanoseconds since the run began: virtual on sim, a monotonic clock on cpu and cuda.
using Nanos = std::int64_t;

/// A name of an operation, span or buffer: text that outlives the timeline. A string literal, as a
/// rule; a timeline read back from a file keeps its own texts (Timeline::intern).
using Name = const char*;

/// The name of one record, wait, signal or block in the program's text, as
/// "async.compute.wait_h2d". Tests remove sites by name; race reports name the site that is
/// missing. Lifetime as Name.
using Site = const char*;

template <class Tag>
struct Handle {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t id = kNone;

  constexpr explicit operator bool() const { return id != kNone; }
  friend constexpr auto operator<=>(Handle, Handle) = default;
};

using Device = Handle<struct DeviceTag>;    ///< A GPU, or what stands in for one. One host each.
using Stream = Handle<struct StreamTag>;    ///< An ordered queue of device work.
using Event = Handle<struct EventTag>;      ///< A marker in a stream; may be recorded again.
using Flag = Handle<struct FlagTag>;        ///< A 64-bit counter that streams signal and wait for.
using Buffer = Handle<struct BufferTag>;    ///< A range of device, pinned or pageable memory.
using Graph = Handle<struct GraphTag>;      ///< A captured script of operations.
using Meeting = Handle<struct MeetingTag>;  ///< What the kernels of a collective meet at.

/// How a stream relates to the legacy default stream, as CUDA defines it.
enum class StreamKind : std::uint8_t {
  kLegacyDefault,  ///< Waits for all blocking streams of its device, and they wait for it.
  kBlocking,       ///< Ordered against the legacy default stream (cudaStreamDefault).
  kNonBlocking,    ///< Not ordered against it at all (cudaStreamNonBlocking).
};

/// Where a buffer lives. Copies from or to pageable memory block the host until they are done.
enum class Memory : std::uint8_t { kDevice, kPinned, kPageable };

/// A point in a stream: just after its `sequence`-th command (counted from 1). 0 is the beginning,
/// which is always reached. Streams run in order, so a position says all that an event can.
struct Position {
  Stream stream;
  std::uint64_t sequence = 0;
};

}  // namespace syncopate::runtime
