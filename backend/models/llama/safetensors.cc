#include "backend/models/llama/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/models/llama/error.h"

namespace syncopate::models::llama {
namespace {

using Json = nlohmann::json;

// Data is little-endian and is taken as it lies.
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // The reference reader's limit.

/// Bytes per element; 0 for a type that the format does not know.
std::uint64_t element_bytes(const std::string& dtype) {
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "BOOL" || dtype == "U8" || dtype == "I8" || dtype == "F8_E4M3" || dtype == "F8_E5M2")
    return 1;
  return 0;
}

/// IEEE binary16 to binary32, exact. Subnormals are fraction * 2^-24.
float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t rebased = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | rebased << 23 | fraction << 13);
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <float (*Convert)(std::uint16_t)>
void convert(const std::byte* from, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits;  // Tensors need not be aligned in the file.
    std::memcpy(&bits, from + 2 * i, 2);
    out[i] = Convert(bits);
  }
}

std::string to_string(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](const char* what) {
    throw CheckpointError(path.string(), "", std::string(what) + ": " + std::strerror(errno));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("cannot be opened");
  struct stat status{};
  void* mapping = MAP_FAILED;
  const bool known = ::fstat(descriptor, &status) == 0;
  if (known && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  const int error = errno;
  ::close(descriptor);
  if (known && status.st_size == 0) return;
  errno = error;
  if (mapping == MAP_FAILED) fail("cannot be mapped");
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void FloatTensor::read(std::uint64_t first, std::span<float> out) const {
  switch (type) {
    case Type::kF32:
      std::ranges::copy(bytes.subspan(4 * first, out.size_bytes()),
                        std::as_writable_bytes(out).begin());
      break;
    case Type::kF16:
      convert<half_to_float>(bytes.data() + 2 * first, out);
      break;
    case Type::kBf16:
      convert<bfloat_to_float>(bytes.data() + 2 * first, out);
      break;
  }
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path.string()), file_(path) {
  parse_header();
  check_coverage();
}

void SafetensorsFile::parse_header() {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < 8)
    fail("", "is " + std::to_string(bytes.size()) + " bytes, too short for a header");
  std::uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeaderBytes || length > bytes.size() - 8)
    fail("", "the header's length, " + std::to_string(length) + ", is past the file's end or " +
                 std::to_string(kMaxHeaderBytes));
  data_ = bytes.subspan(8 + length);

  // The JSON library keeps the last of several equal keys; here they are an error.
  std::set<std::string> seen;
  std::string twice;
  const auto on_event = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !seen.insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json header;
  try {
    const char* text = reinterpret_cast<const char*>(bytes.data() + 8);
    header = Json::parse(text, text + length, on_event);
  } catch (const Json::exception& error) {
    fail("", std::string("the header is not JSON: ") + error.what());
  }
  if (!header.is_object()) fail("", "the header is not a JSON object");
  if (!twice.empty()) fail(twice, "is in the header twice");

  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Tensor tensor;
    const auto is_size = [](const Json& value) { return value.is_number_unsigned(); };
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
      fail(name, "has no 'dtype'");
    tensor.dtype = entry["dtype"].get<std::string>();
    const std::uint64_t size = element_bytes(tensor.dtype);
    if (size == 0) fail(name, "is of the unknown type '" + tensor.dtype + "'");
    if (!entry.contains("shape") || !entry["shape"].is_array() ||
        !std::all_of(entry["shape"].begin(), entry["shape"].end(), is_size))
      fail(name, "'shape' is not a list of sizes");
    tensor.shape = entry["shape"].get<std::vector<std::uint64_t>>();
    if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
        entry["data_offsets"].size() != 2 ||
        !std::all_of(entry["data_offsets"].begin(), entry["data_offsets"].end(), is_size))
      fail(name, "'data_offsets' is not a pair of offsets");
    tensor.begin = entry["data_offsets"][0].get<std::uint64_t>();
    tensor.end = entry["data_offsets"][1].get<std::uint64_t>();
    if (tensor.begin > tensor.end || tensor.end > data_.size())
      fail(name, "its bytes [" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) +
                     ") are not inside the data's " + std::to_string(data_.size()));
    std::uint64_t product = size;
    for (const std::uint64_t extent : tensor.shape)
      if (__builtin_mul_overflow(product, extent, &product))
        fail(name, "the size of shape " + to_string(tensor.shape) + " overflows");
    if (product != tensor.end - tensor.begin)
      fail(name, "shape " + to_string(tensor.shape) + " of " + tensor.dtype + " needs " +
                     std::to_string(product) + " bytes; 'data_offsets' give " +
                     std::to_string(tensor.end - tensor.begin));
    tensors_.emplace(name, std::move(tensor));
  }
}

void SafetensorsFile::check_coverage() const {
  std::vector<std::map<std::string, Tensor>::const_iterator> order;
  for (auto it = tensors_.begin(); it != tensors_.end(); ++it) order.push_back(it);
  // By the end too: an empty tensor sits before the one that begins where it does.
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t covered = 0;
  for (const auto& it : order) {
    if (it->second.begin != covered)
      fail(it->first, "begins at byte " + std::to_string(it->second.begin) +
                          " of the data, where the tensors before it end at " +
                          std::to_string(covered));
    covered = it->second.end;
  }
  if (covered != data_.size())
    fail("", "the tensors end at byte " + std::to_string(covered) + " of the data's " +
                 std::to_string(data_.size()));
}

FloatTensor SafetensorsFile::find(const std::string& name,
                                  const std::vector<std::uint64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(name, "is missing");
  const Tensor& tensor = found->second;
  if (tensor.shape != shape)
    fail(name,
         "has shape " + to_string(tensor.shape) + "; the configuration says " + to_string(shape));
  const std::span<const std::byte> bytes = data_.subspan(tensor.begin, tensor.end - tensor.begin);
  if (tensor.dtype == "F32") return {FloatTensor::Type::kF32, bytes};
  if (tensor.dtype == "F16") return {FloatTensor::Type::kF16, bytes};
  if (tensor.dtype == "BF16") return {FloatTensor::Type::kBf16, bytes};
  fail(name, "is of type " + tensor.dtype + "; F32, F16 and BF16 can be read");
}

void SafetensorsFile::fail(const std::string& tensor, const std::string& reason) const {
  throw CheckpointError(path_, tensor, reason);
}

}  // namespace syncopate::models::llama
