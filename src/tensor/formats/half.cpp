#include "tensor/formats/half.h"

#include <cstring>

namespace shunt::formats {
namespace {

template <float (*Convert)(std::uint16_t)>
void decode_row(const std::byte* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + i * 2, sizeof bits);
    to[i] = Convert(bits);
  }
}

template <std::uint16_t (*Convert)(float)>
void encode_row(const float* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint16_t bits = Convert(from[i]);
    std::memcpy(to + i * 2, &bits, sizeof bits);
  }
}

}  // namespace

void decode_f16(const std::byte* from, float* to, std::int64_t n) {
  decode_row<f16_to_f32>(from, to, n);
}
void encode_f16(const float* from, std::byte* to, std::int64_t n) {
  encode_row<f32_to_f16>(from, to, n);
}
void decode_bf16(const std::byte* from, float* to, std::int64_t n) {
  decode_row<bf16_to_f32>(from, to, n);
}
void encode_bf16(const float* from, std::byte* to, std::int64_t n) {
  encode_row<f32_to_bf16>(from, to, n);
}

}  // namespace shunt::formats
