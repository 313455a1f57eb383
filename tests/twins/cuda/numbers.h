// Numbers for tests, and the 16-bit formats computed with frexp and ldexp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace twin_test {

/// The same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  int integer(int least, int most) {
    return least + static_cast<int>(bits() % static_cast<unsigned>(most - least + 1));
  }
  /// A multiple of 2^-16 in [-1, 1).
  float real() { return static_cast<float>(integer(-65536, 65535)) / 65536.0f; }
  std::vector<float> reals(std::size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = real();
    return values;
  }
  std::vector<std::int32_t> integers(std::size_t n, int least, int most) {
    std::vector<std::int32_t> values(n);
    for (std::int32_t& value : values) value = integer(least, most);
    return values;
  }

 private:
  std::mt19937 engine_;
};

/// `value` with a significand of `bits`, to nearest even; no subnormals, no overflow.
inline double rounded(double value, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}
/// Bits of a normal number in a format of 16 bits, and back.
inline std::uint16_t narrow_bits(double value, int fraction_bits, int bias) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(rounded(value, fraction_bits + 1)), &exponent);
  const auto field = static_cast<unsigned>(exponent - 1 + bias);
  const auto low = static_cast<unsigned>(std::ldexp(2 * fraction - 1, fraction_bits));
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | field << fraction_bits | low);
}
inline double narrow_value(std::uint16_t bits, int fraction_bits, int bias) {
  const int field = (bits & 0x7FFF) >> fraction_bits;
  const int low = bits & ((1 << fraction_bits) - 1);
  if (field == 0) return 0;
  const double magnitude = std::ldexp(1 + std::ldexp(low, -fraction_bits), field - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
inline std::uint16_t f16_bits(double value) {
  return narrow_bits(value, 10, 15);
}
inline double f16_value(std::uint16_t bits) {
  return narrow_value(bits, 10, 15);
}
inline std::uint16_t bf16_bits(double value) {
  return narrow_bits(value, 7, 127);
}
inline double bf16_value(std::uint16_t bits) {
  return narrow_value(bits, 7, 127);
}

}  // namespace twin_test
