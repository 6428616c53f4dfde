// The file of chosen algorithms.
//
// One line for each choice, fields between tabs: device, cuBLASLt's version, rows, out, in, "bf16"
// or "fp32", the algorithm's 64 bytes in hexadecimal, microseconds. An algorithm holds for every
// machine with the same device and library. Lines that are not of this form are skipped, and lost
// when the file is written again; those of other devices and versions are kept.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "backend/models/llama/cuda/gemm.h"

namespace syncopate::models::llama {

struct GemmChoice {
  std::array<std::uint8_t, 64> algorithm{};  ///< A cublasLtMatmulAlgo_t, which can be copied so.
  double microseconds = 0.0;                 ///< For those who read the file.
  friend bool operator==(const GemmChoice&, const GemmChoice&) = default;
};

/// Not safe for use from several threads at once.
class GemmCache {
 public:
  /// The choices for `device` under cuBLASLt `version`. A file that cannot be read has none.
  GemmCache(std::filesystem::path file, std::string device, std::size_t version);

  /// Null for a shape that is not known. Valid until the next add().
  const GemmChoice* find(const GemmShape& shape) const;
  void add(const GemmShape& shape, const GemmChoice& choice);

  /// Writes what was added to what the file holds by now, in one rename: others see the old file or
  /// the new one. Returns why that failed, for a message; empty: it did not. The loss is time.
  std::string write() const;

 private:
  using Key = std::tuple<std::string, std::size_t, GemmShape>;
  using Choices = std::map<Key, GemmChoice>;
  static Choices read(const std::filesystem::path& file);

  std::filesystem::path file_;
  std::string device_;
  std::size_t version_;
  Choices choices_;
};

}  // namespace syncopate::models::llama
