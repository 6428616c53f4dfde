// What tensors are made of.
#pragma once

#include <bit>
#include <cstdint>

namespace syncopate::ulysses {

enum class ElementType : std::uint8_t { kFp16, kBf16, kFp32 };

constexpr std::uint32_t element_bytes(ElementType type) {
  return type == ElementType::kFp32 ? 4 : 2;
}

constexpr const char* to_string(ElementType type) {
  return type == ElementType::kFp16 ? "fp16" : type == ElementType::kBf16 ? "bf16" : "fp32";
}

// Elements on the host, by their bits. Conversions from float round to nearest, ties to even, and
// keep infinities; NaN stays some NaN.

struct Fp16 {
  std::uint16_t bits = 0;
};
struct Bf16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(float value) { return value; }

constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr float to_float(Fp16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  }
  // The exponent is biased by 15 there and by 127 here. As an integer of 2^-24 a subnormal number
  // is exact in a float.
  if (magnitude < 0x400U) {
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
}

/// float, Fp16 or Bf16.
template <class T>
constexpr T from_float(float value);

template <>
constexpr float from_float<float>(float value) {
  return value;
}

template <>
constexpr Bf16 from_float<Bf16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  const std::uint32_t half = 0x7fffU + (bits >> 16 & 1U);
  return {static_cast<std::uint16_t>((bits + half) >> 16)};
}

template <>
constexpr Fp16 from_float<Fp16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto with_sign = [sign](std::uint32_t low) {
    return Fp16{static_cast<std::uint16_t>(sign | low)};
  };
  if (magnitude > 0x7f800000U) return with_sign(0x7e00U);   // NaN
  if (magnitude >= 0x477ff000U) return with_sign(0x7c00U);  // from 65,520 on it rounds to infinity
  if (magnitude < 0x38800000U) {  // below 2^-14: a subnormal number, counted in 2^-24
    // Adding 0.5 leaves a float whose last place is 2^-24: the sum is rounded as it should be.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t half = 0xfffU + (magnitude >> 13 & 1U);
  return with_sign((magnitude + half - ((127U - 15U) << 23)) >> 13);
}

/// Calls `fn.template operator()<T>()` with T the host's element of `type`.
template <class Fn>
constexpr decltype(auto) with_element(ElementType type, Fn&& fn) {
  switch (type) {
    case ElementType::kFp16:
      return fn.template operator()<Fp16>();
    case ElementType::kBf16:
      return fn.template operator()<Bf16>();
    case ElementType::kFp32:
      break;
  }
  return fn.template operator()<float>();
}

}  // namespace syncopate::ulysses
