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

/// A tensor of floats as it lies in a mapped file, perhaps not aligned. A view of the file's bytes,
/// inside it all.
struct FloatTensor {
  enum class Type : std::uint8_t { kF32, kF16, kBf16 };

  Type type = Type::kF32;
  std::span<const std::byte> bytes;

  std::uint64_t size() const { return bytes.size() / (type == Type::kF32 ? 4 : 2); }
  /// Converts the elements from `first` on to fp32, which is exact; as many as `out` has, and no
  /// more than there are.
  void read(std::uint64_t first, std::span<float> out) const;
};

/// Everything in the header is checked on opening: what find() gives lies inside the file.
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

  /// A tensor of F32, F16 or BF16. Throws CheckpointError when there is no such tensor, its shape
  /// is not `shape`, or its type is another.
  FloatTensor find(const std::string& name, const std::vector<std::uint64_t>& shape) const;

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
