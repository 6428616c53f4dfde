// A reader of one safetensors file, mapped into memory.
//
// The format (huggingface/safetensors): eight bytes, little-endian: the header's length; the
// header, a JSON object from tensor name to {"dtype", "shape", "data_offsets": [begin, end]},
// perhaps with an entry "__metadata__"; then the data, which the tensors cover exactly: no hole, no
// overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace syncopate::models::llama {

/// A read-only mapping of a whole file.
class MappedFile {
 public:
  /// Throws CheckpointError when the file cannot be opened or mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Everything in the header is checked on opening: what read() touches lies inside the file.
/// Immutable once made; safe to use from any thread. The file must not shrink while it is open.
class SafetensorsFile {
 public:
  struct Tensor {
    std::string dtype;  ///< As in the file: "F32", "BF16", …
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0, end = 0;  ///< Bytes, from the start of the data.
  };

  /// Throws CheckpointError, naming the file and the tensor, when the file is not well-formed.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

  /// Converts a tensor of F32, F16 or BF16 to fp32, row-major, into `out`, which must hold its
  /// elements. Throws CheckpointError when there is no such tensor, its shape is not `shape`, or
  /// its type is another.
  void read(const std::string& name, const std::vector<std::uint64_t>& shape, float* out) const;

 private:
  void parse_header();
  void check_coverage() const;
  [[noreturn]] void fail(const std::string& tensor, const std::string& reason) const;

  std::string path_;
  MappedFile file_;
  std::span<const std::byte> data_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace syncopate::models::llama
