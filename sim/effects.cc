#include "sim/effects.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::sim {

using runtime::Access;
using runtime::Body;
using runtime::Name;
using runtime::Region;

namespace {

void flip_low_bits(std::byte* bytes, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; i += 4) bytes[i] ^= std::byte{1};
}

}  // namespace

std::uint32_t Effects::take(Name name, Type type, std::uint32_t graph) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(effects_.size()));
    effects_.emplace_back();
    free_.reserve(effects_.capacity());  // all may be free at once, at any later time
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  Effect& effect = effects_[id];
  effect.name = name;
  effect.type = type;
  effect.spoiled = false;
  effect.graph = graph;
  effect.accesses.clear();
  effect.staged.clear();
  effect.staging.clear();
  return id;
}

std::uint32_t Effects::add_graph(Name name, std::span<const Access> scratch) {
  const std::uint32_t id = take(name, Type::kGraph, kNone);
  effects_[id].accesses.assign(scratch.begin(), scratch.end());
  return id;
}

std::uint32_t Effects::add_kernel(Name name, const Body& body, std::span<const Access> accesses,
                                  std::span<const Access> extra, std::uint32_t graph) {
  if (!body) {
    throw runtime::UsageError("kernel '" + std::string(name) + "' has no host body to simulate");
  }
  const std::uint32_t id = take(name, Type::kKernel, graph);
  Effect& effect = effects_[id];
  effect.body = body;
  effect.accesses.insert(effect.accesses.end(), accesses.begin(), accesses.end());
  effect.accesses.insert(effect.accesses.end(), extra.begin(), extra.end());
  return id;
}

std::uint32_t Effects::add_copy(Name name, const Region& dst, const Region& src,
                                std::uint32_t graph) {
  const std::uint32_t id = take(name, Type::kCopy, graph);
  Effect& effect = effects_[id];
  effect.dst = dst;
  effect.src = src;
  effect.accesses.push_back(runtime::access_of(dst, /*write=*/true));
  effect.accesses.push_back(runtime::access_of(src, /*write=*/false));
  return id;
}

void Effects::start(std::uint32_t id) {
  Effect& effect = effects_[id];
  switch (effect.type) {
    case Type::kGraph:
      land(effect.accesses, kNone);
      break;
    case Type::kKernel:
      start_kernel(effect);
      break;
    case Type::kCopy:
      start_copy(effect);
      break;
  }
  running_.push_back(id);
}

void Effects::start_kernel(Effect& effect) {
  std::uint64_t bytes = 0;
  for (const Access& access : effect.accesses) {
    const std::uint64_t size = access.end - access.begin;
    const bool scratch = size > kScratchBytes && size == memory_.size(access.buffer);
    if (!access.write || scratch) continue;
    const std::uint64_t width = access.width == 0 ? size : access.width;
    const std::uint64_t pitch = access.width == 0 ? size : access.pitch;
    for (std::uint64_t row = access.begin; row < access.end; row += pitch) {
      effect.staged.push_back({memory_.base(access.buffer) + row, width, bytes});
      bytes += width;
    }
  }
  effect.staging.resize(bytes);
  std::byte* staging = effect.staging.data();
  for (const Staged& part : effect.staged) {
    std::memcpy(staging + part.at, part.memory, part.bytes);
  }
  try {
    runtime::Exec exec(memory_.bases(), nullptr);
    effect.body(exec);
  } catch (const std::exception& error) {
    throw runtime::OperationError(effect.name, error.what());
  }
  // Swaps outputs and what was there before. Where ranges of one operation overlap, the first has
  // the outputs and later ones the memory before: finish() lands them last to first.
  for (const Staged& part : effect.staged) {
    std::swap_ranges(part.memory, part.memory + part.bytes, staging + part.at);
  }
}

void Effects::start_copy(Effect& effect) {
  const Region& dst = effect.dst;
  const Region& src = effect.src;
  effect.staging.resize(src.bytes());
  std::uint64_t at = 0;
  for (std::uint64_t row = 0; row < src.rows; ++row) {
    std::memcpy(effect.staging.data() + at, memory_.base(src.buffer) + src.offset + row * src.pitch,
                src.width);
    effect.staged.push_back(
        {memory_.base(dst.buffer) + dst.offset + row * dst.pitch, dst.width, at});
    at += src.width;
  }
}

void Effects::finish(std::uint32_t id) {
  running_.erase(std::find(running_.begin(), running_.end(), id));
  Effect& effect = effects_[id];
  const bool spoiled = effect.spoiled || (effect.graph != kNone && effects_[effect.graph].spoiled);
  std::byte* staging = effect.staging.data();
  for (auto part = effect.staged.rbegin(); part != effect.staged.rend(); ++part) {
    if (spoiled) flip_low_bits(staging + part->at, part->bytes);
    std::memcpy(part->memory, staging + part->at, part->bytes);
  }
  land(effect.accesses, effect.graph);
  free_.push_back(id);
}

void Effects::host_span(std::span<const Access> accesses) { land(accesses, kNone); }

void Effects::land(std::span<const Access> accesses, std::uint32_t own_graph) {
  for (const std::uint32_t id : running_) {
    Effect& other = effects_[id];
    if (other.spoiled || id == own_graph) continue;
    for (const Access& write : accesses) {
      if (!write.write) continue;
      for (const Access& touched : other.accesses) {
        other.spoiled |= runtime::overlap(write, touched).has_value();
      }
    }
  }
}

}  // namespace syncopate::sim
