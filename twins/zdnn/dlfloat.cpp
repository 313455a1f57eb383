#include "dlfloat.h"

namespace zdnn_twin {
namespace {

constexpr int kFraction = 9;
constexpr int kBias = 31;

// Any IEEE format with a wider fraction and a wider exponent. Exponent and fraction are next to
// each other, so a carry out of the fraction goes where it belongs.
template <class Bits, int kItsFraction, int kItsBias>
Converted dlf_from_ieee(Bits pattern) {
  constexpr int kWidth = sizeof(Bits) * 8;
  constexpr Bits kSign = Bits{1} << (kWidth - 1);
  constexpr Bits kInfinity = kSign - (Bits{1} << kItsFraction);
  constexpr int kDropped = kItsFraction - kFraction;
  constexpr Bits kLowest = Bits{kItsBias - kBias} << kFraction;  // where DLFLOAT16 has its zero

  const auto sign = static_cast<std::uint16_t>((pattern >> (kWidth - 1)) << 15);
  const Bits magnitude = pattern & ~kSign;
  const auto ninf = static_cast<std::uint16_t>(sign | kNinf);
  if (magnitude > kInfinity) return {ninf, Odd::kNotANumber};
  if (magnitude == kInfinity) return {ninf, Odd::kInfinite};

  const Bits rounded = (magnitude + (Bits{1} << (kDropped - 1))) >> kDropped;
  if (rounded <= kLowest) return {sign, magnitude == 0 ? Odd::kNothing : Odd::kUnderflow};
  const Bits dlf = rounded - kLowest;
  if (dlf >= kNinf) return {ninf, Odd::kTooLarge};
  return {static_cast<std::uint16_t>(sign | dlf), Odd::kNothing};
}

std::uint32_t fp32_from_fp16(std::uint16_t pattern) {
  const std::uint32_t sign = static_cast<std::uint32_t>(pattern >> 15) << 31;
  const std::uint32_t magnitude = pattern & 0x7FFF;
  if (magnitude >= 0x7C00) return sign | 0x7F800000 | ((magnitude & 0x3FF) << 13);
  if (magnitude >= 0x0400) return sign | ((magnitude << 13) + ((127 - 15) << 23));
  if (magnitude == 0) return sign;
  // Subnormal, magnitude * 2^-24: its leading bit becomes the implicit one.
  const int leading = static_cast<int>(std::bit_width(magnitude)) - 1;
  const std::uint32_t fraction = (magnitude << (23 - leading)) & 0x7FFFFF;
  return sign | (static_cast<std::uint32_t>(127 - 24 + leading) << 23) | fraction;
}

}  // namespace

Converted dlf_from_fp32(std::uint32_t pattern) {
  return dlf_from_ieee<std::uint32_t, 23, 127>(pattern);
}
Converted dlf_from_fp16(std::uint16_t pattern) {
  return dlf_from_fp32(fp32_from_fp16(pattern));
}
Converted dlf_from_bfloat(std::uint16_t pattern) {
  return dlf_from_fp32(static_cast<std::uint32_t>(pattern) << 16);
}
Converted dlf_from_double(double value) {
  return dlf_from_ieee<std::uint64_t, 52, 1023>(std::bit_cast<std::uint64_t>(value));
}

std::uint16_t bfloat_from_dlf(std::uint16_t dlf) {
  return static_cast<std::uint16_t>(fp32_from_dlf(dlf) >> 16);
}

Converted fp16_from_dlf(std::uint16_t dlf) {
  const auto sign = static_cast<std::uint16_t>(dlf & 0x8000);
  const std::uint32_t magnitude = dlf & kDlfMagnitude;
  const auto with_sign = [&](std::uint32_t rest) {
    return static_cast<std::uint16_t>(sign | rest);
  };
  if (magnitude == kNinf) return {0x7E00, Odd::kNotANumber};
  if (magnitude == 0) return {sign, Odd::kNothing};
  const int exponent = static_cast<int>(magnitude >> kFraction) - kBias;
  const std::uint32_t fraction = magnitude & 0x1FF;
  if (exponent > 15) return {with_sign(0x7C00), Odd::kTooLarge};
  if (exponent >= -14)
    return {with_sign((static_cast<std::uint32_t>(exponent + 15) << 10) | (fraction << 1)),
            Odd::kNothing};
  // Subnormal: units of 2^-24.
  const int shift = -15 - exponent;
  const std::uint32_t full = 0x200 | fraction;
  const std::uint32_t units = shift == 0 ? full : (full + (1u << (shift - 1))) >> shift;
  return {with_sign(units), units == 0 ? Odd::kUnderflow : Odd::kNothing};
}

std::uint32_t fp32_saturated(std::uint32_t pattern) {
  const std::uint32_t magnitude = pattern & 0x7FFFFFFF;
  if (magnitude <= kDlfMaxAsFp32 || magnitude >= 0x7F800000) return pattern;
  return (pattern & 0x80000000) | kDlfMaxAsFp32;
}

}  // namespace zdnn_twin
