// MXFP4 (OCP Microscaling Formats 1.0): 32 elements in 17 bytes: an exponent e (E8M0) and 32
// numbers of 4 bits, floats of 1 sign, 2 exponent and 1 mantissa bit (E2M1).
// value = number * 2^(e - 127); e = 255 makes all of them not-a-number.
#include <bit>
#include <limits>

#include "tensor/formats/bits.h"
#include "tensor/formats/blocks.h"

namespace shunt::formats {
namespace {

constexpr float kNumbers[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

/// 2^(e - 127).
float power(int e) {
  if (e == 255) return std::numeric_limits<float>::quiet_NaN();
  if (e == 0) return 0x1p-127f;  // not a normal F32
  return std::bit_cast<float>(static_cast<std::uint32_t>(e) << 23);
}

}  // namespace

void MXFP4::decode(const std::byte* block, float* values) {
  const float scale = power(std::to_integer<int>(block[0]));
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 1, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = kNumbers[q[i]] * scale;
}

}  // namespace shunt::formats
