#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/iq_codebooks.h"

namespace shunt::cuda::gpu {

/// Vectors of the codebooks of the IQ formats: elements of 8 bits, the first one lowest.
template <std::size_t kCount>
DEVICE u64 vector_of(const formats::Codebook<kCount, 8>& codebook, u32 index) {
  return *(const u64*)&codebook[index];
}
/// Two vectors of 4 elements.
template <std::size_t kCount>
DEVICE u64 vectors_of(const formats::Codebook<kCount, 4>& codebook, u32 first, u32 second) {
  return *(const u32*)&codebook[first] | (u64) * (const u32*)&codebook[second] << 32;
}
DEVICE float vector_element(u64 vector, int i) {
  return (float)(i8)(vector >> 8 * i);
}
/// scale * element, negative where the element's bit of `signs` is set.
DEVICE void decode_signed(u64 vector, u32 signs, float scale, float (&to)[kGroup]) {
  for (int i = 0; i < kGroup; ++i) {
    const float value = scale * vector_element(vector, i);
    to[i] = (signs >> i & 1) != 0 ? -value : value;
  }
}
/// scale * (element + shift), the shift being 1/8 or -1/8.
DEVICE void decode_shifted(u64 vector, bool negative, float scale, float (&to)[kGroup]) {
  const float shift = negative ? -formats::kIq1Shift : formats::kIq1Shift;
  for (int i = 0; i < kGroup; ++i) to[i] = scale * (vector_element(vector, i) + shift);
}

}  // namespace shunt::cuda::gpu
