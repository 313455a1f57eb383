// Blocks made of numbers: the code of src/tensor/formats, compiled for the device. A kernel file
// includes this header, then the sources of its formats between BEGIN and END.
#pragma once

// The standard library's headers as clang wraps them for CUDA want these names.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))

// The compiler needs malloc() before <new>, which others include.
#include <cstdlib>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include "shunt/tensor.h"

#include "backends/cuda/gpu/destination.h"
#include "backends/cuda/gpu/plain.h"
#include "backends/cuda/kernels/copy.h"

// The compiler makes the functions of these headers for the host and for the device, and drops
// those that a kernel does not call.
#pragma clang force_cuda_host_device begin
#include "tensor/formats/half.h"
#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)
#include "tensor/formats/blocks.h"
#include "tensor/formats/rows.h"
#pragma clang attribute pop
#pragma clang force_cuda_host_device end

namespace shunt::cuda::gpu {

/// An encoder of a block without weights.
template <class Format>
struct Plainly {
  static constexpr int kElements = Format::kElements, kBytes = Format::kBytes;
  DEVICE void encode(const float* values, std::byte* block) {
    formats::encode_rows<Format>(values, block, kElements);
  }
};

/// A block a thread. Encoders change bytes of a block several times, and so do that in local
/// memory.
template <class Encoder>
DEVICE void encode_blocks(const CopyArgs& p) {
  constexpr int kElements = Encoder::kElements, kBytes = Encoder::kBytes;
  using Word = std::conditional_t<kBytes % 2 == 0, u16, u8>;
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  Tensor shape = x;
  shape.n[0] /= kElements;
  if (is_idle(shape)) return;
  const Target to = target_of(p.to, run);
  for_each_element(shape, [&](i64 i, RowIndex at) {
    u8* row = row_of(p.common, to, at);
    if (row == nullptr) return;
    float values[kElements];
    const u8* from = row_at(x, at) + i * kElements * x.stride[0];
    for (int k = 0; k < kElements; ++k) values[k] = load_plain(p.x_type, from + k * x.stride[0]);
    alignas(Word) std::byte made[kBytes] = {};
    Encoder::encode(values, made);
    Word* block = (Word*)(row + i * to.y.stride[0]);
    for (int k = 0; k < kBytes / (int)sizeof(Word); ++k) block[k] = ((const Word*)made)[k];
  });
}

}  // namespace shunt::cuda::gpu

#define ENCODE(FORMAT)                                                                     \
  KERNEL void encode_##FORMAT(shunt::cuda::gpu::CopyArgs p) {                              \
    shunt::cuda::gpu::encode_blocks<shunt::cuda::gpu::Plainly<shunt::formats::FORMAT>>(p); \
  }
