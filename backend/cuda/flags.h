// Flags: 64-bit counters in pinned memory that streams write and wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/runtime/handles.h"

namespace syncopate::cuda {

/// A flag is one word that grows. CUDA bakes a word's value into a graph, so a flag with a cycle is
/// as many words instead: value v is word v mod cycle, which a signal sets to 1 and the one wait
/// for it sets back to 0. Its rule (Runtime::make_flag) is what makes that enough.
///
/// create() comes first, from one thread; the rest may then be called from any thread.
class Flags {
 public:
  /// A flag at 0.
  void create(runtime::Flag flag, std::uint64_t cycle);

  /// Sets `flag` to `value` behind the work of `stream`, whose writes are visible to who sees it.
  void write(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const;
  /// Holds `stream` until `flag` is at least `value`. CUDA compares the signed difference, so
  /// values stay below 2^63.
  void wait(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const;

  /// Whether `flag`, which has no cycle, is at least `value`. Then what was done before its signal
  /// is visible to the caller.
  bool reached(runtime::Flag flag, std::uint64_t value) const;

  /// Raises every flag above all values, from the host: what waits goes on. What a stream still
  /// holds may set a flag back: to be called again until all streams are idle.
  void release_all() const;

 private:
  struct Words {
    std::size_t first = 0;  // index into words_
    std::uint64_t cycle = 0;
  };
  std::uint64_t* take_word();

  std::vector<PinnedMemory> blocks_;
  std::vector<std::uint64_t*> words_;
  std::vector<Words> flags_;  // by id
};

}  // namespace syncopate::cuda
