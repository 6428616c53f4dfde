// The integer functions of the hash model. Shared by the CPU and CUDA kernels, so that both give
// the same bits.
#pragma once

#include <cstdint>

#include "backend/models/batch_view.h"

namespace syncopate::models::hash {

/// A bijective mix of 32 bits (multiply and xor-shift rounds; constants are odd).
SYNCOPATE_HOST_DEVICE inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x21f0aaadU;
  x = (x ^ (x >> 15)) * 0x735a2d97U;
  return x ^ (x >> 15);
}

/// What the KV pool holds for a token: its id bound to its position, so that an entry read at the
/// wrong place differs from the right one.
SYNCOPATE_HOST_DEVICE inline std::uint32_t kv_entry(std::uint32_t id, std::uint32_t position) {
  return mix(id * 0x9e3779b9U + mix(position + 1));
}

/// Folds one more KV entry into a row's history. Depends on order: a rolling hash.
SYNCOPATE_HOST_DEVICE inline std::uint32_t fold(std::uint32_t history, std::uint32_t entry) {
  return (history ^ entry) * 0x01000193U + (history >> 19);
}

/// The integer logit of token `id` after `history`. The next token is the id with the largest
/// logit, the lowest such id on a tie.
SYNCOPATE_HOST_DEVICE inline std::uint32_t logit(std::uint32_t history, std::uint32_t id) {
  return mix(history + id * 0x85ebca6bU);
}

}  // namespace syncopate::models::hash
