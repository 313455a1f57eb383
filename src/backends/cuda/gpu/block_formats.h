// Block formats as kernels read them, a header each. src/tensor/formats/NAME.cpp describes the
// layout of NAME, and the symbols of its formula. group() decodes eight elements of a block:
// element `at`, a multiple of eight, and those after it. All numbers are little-endian.
#pragma once

#include "backends/cuda/gpu/formats/iq1_m.h"
#include "backends/cuda/gpu/formats/iq1_s.h"
#include "backends/cuda/gpu/formats/iq2_s.h"
#include "backends/cuda/gpu/formats/iq2_xs.h"
#include "backends/cuda/gpu/formats/iq2_xxs.h"
#include "backends/cuda/gpu/formats/iq3_s.h"
#include "backends/cuda/gpu/formats/iq3_xxs.h"
#include "backends/cuda/gpu/formats/iq4_nl.h"
#include "backends/cuda/gpu/formats/iq4_xs.h"
#include "backends/cuda/gpu/formats/mxfp4.h"
#include "backends/cuda/gpu/formats/q2_k.h"
#include "backends/cuda/gpu/formats/q3_k.h"
#include "backends/cuda/gpu/formats/q4_0.h"
#include "backends/cuda/gpu/formats/q4_1.h"
#include "backends/cuda/gpu/formats/q4_k.h"
#include "backends/cuda/gpu/formats/q5_0.h"
#include "backends/cuda/gpu/formats/q5_1.h"
#include "backends/cuda/gpu/formats/q5_k.h"
#include "backends/cuda/gpu/formats/q6_k.h"
#include "backends/cuda/gpu/formats/q8_0.h"
#include "backends/cuda/gpu/formats/q8_1.h"
#include "backends/cuda/gpu/formats/q8_k.h"
#include "backends/cuda/gpu/formats/tq1_0.h"
#include "backends/cuda/gpu/formats/tq2_0.h"

namespace shunt::cuda::gpu {

// Instances of a kernel: M(T) for each format.
// clang-format off
#define FOR_BLOCK_FORMATS(M) \
  M(Q4_0) M(Q4_1) M(Q5_0) M(Q5_1) M(Q8_0) M(Q8_1) M(MXFP4) M(Q2_K) M(Q3_K) \
  M(Q4_K) M(Q5_K) M(Q6_K) M(Q8_K) M(IQ1_S) M(IQ1_M) M(IQ2_XXS) M(IQ2_XS) \
  M(IQ2_S) M(IQ3_XXS) M(IQ3_S) M(IQ4_NL) M(IQ4_XS) M(TQ1_0) M(TQ2_0)
// clang-format on

/// Elements `first`, a multiple of eight, and those after it of a row.
template <class Format>
DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
  const u64 block = (u64)first / Format::kElements;
  const PackedGroup group =
      Format::group(row + block * Format::kBytes, (u32)((u64)first % Format::kElements));
  for (int i = 0; i < kGroup; ++i) {
    to[i] = group.scale * number_at(group.numbers, i);
    if constexpr (Format::kHasOffset) to[i] += group.offset;
  }
}

/// How kernels read rows of any type: elements one by one, or groups of a block format.
template <class Plain>
struct Single {
  static constexpr int kCount = 1;
  DEVICE void read(const u8* row, i64 i, i64 stride, float (&to)[kCount]) {
    to[0] = load<Plain>(row, i, stride);
  }
};
template <class Format>
struct Group {
  static constexpr int kCount = kGroup;
  DEVICE void read(const u8* row, i64 first, i64, float (&to)[kCount]) {
    decode<Format>(row, first, to);
  }
};

/// Element i of a row.
template <class Format>
DEVICE float element(const u8* row, i64 i) {
  float group[kGroup];
  decode<Format>(row, i / kGroup * kGroup, group);
  float value = 0;
  for (int k = 0; k < kGroup; ++k) value = i % kGroup == k ? group[k] : value;
  return value;
}

}  // namespace shunt::cuda::gpu
