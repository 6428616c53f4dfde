#include "backend/models/llama/cuda/gemm_cache.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace syncopate::models::llama {
namespace {

constexpr std::string_view kBf16 = "bf16", kFp32 = "fp32";
constexpr std::size_t kFields = 8;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

/// Whether `text` is a number and nothing else; `value` has it then.
template <class Number, class... Base>
bool parse(std::string_view text, Number& value, Base... base) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value, base...);
  return error == std::errc() && rest == end;
}

bool parse(std::string_view text, std::array<std::uint8_t, 64>& bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (!parse(text.substr(2 * i, 2), bytes[i], 16)) return false;
  return true;
}

std::string hexadecimal(const std::array<std::uint8_t, 64>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

GemmCache::GemmCache(std::filesystem::path file, std::string device, std::size_t version)
    : file_(std::move(file)),
      device_(std::move(device)),
      version_(version),
      choices_(read(file_)) {}

GemmCache::Choices GemmCache::read(const std::filesystem::path& file) {
  Choices choices;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string_view> fields = split(line);
    std::size_t version = 0;
    GemmShape shape;
    GemmChoice choice;
    if (fields.size() != kFields || !parse(fields[1], version) || !parse(fields[2], shape.rows) ||
        !parse(fields[3], shape.out) || !parse(fields[4], shape.in) ||
        (fields[5] != kBf16 && fields[5] != kFp32) || !parse(fields[6], choice.algorithm) ||
        !parse(fields[7], choice.microseconds))
      continue;
    shape.fp32_out = fields[5] == kFp32;
    choices.insert_or_assign({std::string(fields[0]), version, shape}, choice);
  }
  return choices;
}

const GemmChoice* GemmCache::find(const GemmShape& shape) const {
  const auto found = choices_.find({device_, version_, shape});
  return found == choices_.end() ? nullptr : &found->second;
}

void GemmCache::add(const GemmShape& shape, const GemmChoice& choice) {
  choices_.insert_or_assign({device_, version_, shape}, choice);
}

std::string GemmCache::write() const {
  Choices merged = choices_;
  merged.merge(read(file_));  // Of what both have, ours stays.
  std::error_code error;
  if (file_.has_parent_path()) std::filesystem::create_directories(file_.parent_path(), error);
  if (error) return "cannot make the folder of " + file_.string() + ": " + error.message();
  std::filesystem::path unfinished = file_;
  unfinished += "." + std::to_string(::getpid()) + ".tmp";
  std::ofstream stream(unfinished);
  for (const auto& [key, choice] : merged) {
    const auto& [device, version, shape] = key;
    stream << device << '\t' << version << '\t' << shape.rows << '\t' << shape.out << '\t'
           << shape.in << '\t' << (shape.fp32_out ? kFp32 : kBf16) << '\t'
           << hexadecimal(choice.algorithm) << '\t' << choice.microseconds << '\n';
  }
  stream.close();
  if (!stream) error.assign(errno, std::generic_category());
  if (!error) std::filesystem::rename(unfinished, file_, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return "cannot write " + file_.string() + ": " + error.message();
  }
  return "";
}

}  // namespace syncopate::models::llama
