// Effects: what operations do to memory, in virtual time.
//
// An operation takes its inputs at its start and its outputs appear at its end. So a kernel's body
// runs at its start, and what it wrote is set aside and the memory put back until its end; a copy
// gathers at its start and scatters at its end. Whatever lands meanwhile (another operation's
// outputs, a host span's writes) on a range that a running operation reads or writes spoils that
// operation: the low bit of each 32-bit word of its outputs is flipped when they land. What a real
// device would do by luck thus shows every time, and ids stay close enough to be valid.
//
// Scratch is let through: a kernel's write of a whole buffer larger than kScratchBytes appears at
// its start and is not flipped, since nothing but the kernel itself reads it. It counts as landing
// and as a range of the running operation like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/runtime/command.h"
#include "sim/memory.h"

namespace syncopate::sim {

/// Not thread-safe. Effects are pooled: no allocation once as many have been in flight, with as
/// many ranges and bytes, as ever will be.
class Effects {
 public:
  static constexpr std::uint64_t kScratchBytes = 64 * 1024;

  /// `memory` must outlive the effects and hold every buffer that they touch.
  explicit Effects(const BufferMemory& memory) : memory_(memory) {}

  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Each returns a handle that lives until finish().

  /// A graph launch as a whole, which writes `scratch` all the time that it runs. What lands on
  /// that, other than its own nodes, spoils its nodes: those that name it as their `graph`.
  std::uint32_t add_graph(runtime::Name name, std::span<const runtime::Access> scratch);
  /// Throws UsageError when there is no body.
  std::uint32_t add_kernel(runtime::Name name, const runtime::Body& body,
                           std::span<const runtime::Access> accesses,
                           std::span<const runtime::Access> extra = {},
                           std::uint32_t graph = kNone);
  std::uint32_t add_copy(runtime::Name name, const runtime::Region& dst, const runtime::Region& src,
                         std::uint32_t graph = kNone);

  /// The operation starts. Throws OperationError when its body throws.
  void start(std::uint32_t effect);
  /// The operation ends: its outputs land.
  void finish(std::uint32_t effect);

  /// A host span begins whose code runs now: its writes land.
  void host_span(std::span<const runtime::Access> accesses);

 private:
  // Bytes set aside for one range, at `at` in the effect's staging.
  struct Staged {
    std::byte* memory;
    std::uint64_t bytes;
    std::uint64_t at;
  };
  enum class Type : std::uint8_t { kGraph, kKernel, kCopy };
  struct Effect {
    runtime::Name name;
    Type type;
    bool spoiled;
    std::uint32_t graph;
    runtime::Body body;
    runtime::Region dst, src;
    std::vector<runtime::Access> accesses;
    std::vector<Staged> staged;
    std::vector<std::byte> staging;
  };

  std::uint32_t take(runtime::Name name, Type type, std::uint32_t graph);
  void start_kernel(Effect& effect);
  void start_copy(Effect& effect);
  void land(std::span<const runtime::Access> accesses, std::uint32_t own_graph);

  const BufferMemory& memory_;
  std::vector<Effect> effects_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> running_;
};

}  // namespace syncopate::sim
