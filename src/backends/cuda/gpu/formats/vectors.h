#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/iq_codebooks.h"

namespace shunt::cuda::gpu {

/// A vector of 8 elements of a codebook of the IQ formats, as packed numbers.
template <std::size_t kCount>
DEVICE void load_vector(const formats::Codebook<kCount, 8>& codebook, u32 index, u32 (&to)[2]) {
  const u64 vector = *(const u64*)&codebook[index];
  to[0] = (u32)vector;
  to[1] = (u32)(vector >> 32);
}
/// One of 4 elements.
template <std::size_t kCount>
DEVICE u32 vector_of(const formats::Codebook<kCount, 4>& codebook, u32 index) {
  return *(const u32*)&codebook[index];
}

/// Makes those elements negative whose bits of `signs` are set. None of them is 0.
DEVICE void apply_signs(u32 signs, u32 (&numbers)[2]) {
  for (int w = 0; w < 2; ++w) {
    const u32 negative = spread_bits(signs >> 4 * w);
    numbers[w] = (numbers[w] ^ negative * 0xFF) + negative;
  }
}
/// The shift of the IQ1 formats at a scale.
DEVICE float shift_of(float scale, bool negative) {
  return scale * (negative ? -formats::kIq1Shift : formats::kIq1Shift);
}

}  // namespace shunt::cuda::gpu
