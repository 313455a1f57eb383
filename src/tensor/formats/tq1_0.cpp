// TQ1_0: 256 elements in 54 bytes: 256 numbers q of 0 to 2 and a scale d (F16).
// value = (q - 1) * d; made for weights that are -1, 0 or 1 times a scale.
//
// Five numbers share a byte, as the digits of a fraction in base 3. The byte is 256 / 243 times
// their number, rounded up. So the first digit is the byte * 3 / 256, and the remainder, the byte *
// 3 mod 256, has the next one in the same way. Elements 0 to 159 are the digits of bytes 0 to 31
// (32 first digits, then 32 second ones, ...). Elements 160 to 239 are those of bytes 32 to 47,
// elements 240 to 255 the first four of bytes 48 to 51.
#include <cmath>

#include "tensor/formats/blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

struct TQ1_0::Layout {
  static constexpr int kScaleAt = 52;
  static constexpr int kDigits = 5;
};

namespace {

/// Bytes [at, at + bytes) have `digits` runs of elements, the first of which starts at `first`.
struct Stretch {
  int at, bytes, digits, first;
};
constexpr Stretch kStretches[] = {{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}};

}  // namespace

void TQ1_0::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + Layout::kScaleAt);
  for (const Stretch& s : kStretches) {
    for (int i = 0; i < s.bytes; ++i) {
      unsigned rest = std::to_integer<unsigned>(block[s.at + i]);
      for (int digit = 0; digit < s.digits; ++digit) {
        rest = (rest & 0xffu) * 3;
        values[s.first + digit * s.bytes + i] =
            static_cast<float>(static_cast<int>(rest >> 8) - 1) * d;
      }
    }
  }
}

/// d is the largest magnitude.
void TQ1_0::encode(const float* values, std::byte* block) {
  const float d = std::fabs(largest(values, kElements));
  const float inverse = reciprocal(d);
  for (const Stretch& s : kStretches) {
    for (int i = 0; i < s.bytes; ++i) {
      unsigned number = 0;
      for (int digit = 0; digit < Layout::kDigits; ++digit) {
        number *= 3;
        if (digit < s.digits) number += ternary(values[s.first + digit * s.bytes + i] * inverse);
      }
      block[s.at + i] = static_cast<std::byte>((number * 256 + 242) / 243);
    }
  }
  store_f16(d, block + Layout::kScaleAt);
}

}  // namespace shunt::formats
