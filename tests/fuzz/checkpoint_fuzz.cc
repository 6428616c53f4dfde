// Any bytes are a checkpoint's file, or a typed error. The first byte says which: config.json, or
// safetensors, of which every tensor is then read in full.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/models/llama/config.h"
#include "backend/models/llama/error.h"
#include "backend/models/llama/safetensors.h"

namespace syncopate::models::llama {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// A file in memory, with a name by which it can be opened.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes)
      : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0);
    require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void read_safetensors(std::span<const std::uint8_t> bytes) {
  const MemoryFile memory(bytes);
  const SafetensorsFile file(memory.path());
  std::vector<float> values;
  for (const auto& [name, tensor] : file.tensors()) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : tensor.shape) elements *= extent;
    require(elements <= bytes.size());
    values.assign(elements, 0.0f);
    try {
      const FloatTensor found = file.find(name, tensor.shape);
      require(found.size() == elements);
      found.read(0, values);
    } catch (const CheckpointError& error) {  // of a type that is not converted
      require(error.tensor() == name);
    }
  }
}

}  // namespace
}  // namespace syncopate::models::llama

// libFuzzer's name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate::models::llama;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  try {
    if (data[0] == 'c') {
      validate(parse_config({reinterpret_cast<const char*>(rest.data()), rest.size()}, "fuzz"),
               "fuzz");
    } else {
      read_safetensors(rest);
    }
  } catch (const syncopate::runtime::Error& error) {
    require(*error.what() != '\0');
  }
  return 0;
}
