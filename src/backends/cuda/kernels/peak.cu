// Loops of the meter of peak rates.
#include "backends/cuda/gpu/dialect.h"
#include "backends/cuda/kernels/peak.h"

using namespace shunt::cuda::gpu;

namespace {

struct alignas(kPeakLoad) Load {
  u32 words[kPeakLoad / 4];
};

/// No loop ends with this number.
constexpr u32 kNever = 0x12345678;

/// Calls step() for each sum, `rounds` times.
template <class T, class Step>
DEVICE void repeat(u64 rounds, T (&sums)[kPeakChains], const Step& step) {
  for (u64 round = 0; round < rounds; round += kPeakUnroll) {
#pragma unroll
    for (int i = 0; i < kPeakUnroll; ++i) {
#pragma unroll
      for (T& sum : sums) sum = step(sum);
    }
  }
}

}  // namespace

/// Reads all of the memory once.
KERNEL void peak_read(PeakArgs p) {
  u32 sum = 0;
  for (i64 i = block() * threads() + thread(); i < p.loads; i += blocks() * threads()) {
    const Load load = ((const Load*)p.data)[i];
    for (const u32 word : load.words) sum ^= word;
  }
  if (sum == kNever) *p.result = sum;
}

/// Sums that differ by chain, of products that are not known to the compiler.
KERNEL void peak_int8(PeakArgs p) {
  i32 sums[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) sums[i] = (i32)thread() * kPeakChains + i;
  const u32 bytes = 0x01020304u + (u32)(p.rounds >> 63);
  repeat(p.rounds, sums, [=](i32 sum) ALWAYS_INLINE { return multiply_bytes(bytes, bytes, sum); });
  u32 all = 0;
  for (const i32 sum : sums) all |= (u32)sum;
  if (all == kNever) *p.result = all;
}

/// Numbers that stay between 0 and 2.
KERNEL void peak_f32(PeakArgs p) {
  float sums[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) sums[i] = (float)(thread() + i) / 1024;
  const float half = p.rounds == 0 ? 0.0f : 0.5f;
  repeat(p.rounds, sums, [=](float sum) ALWAYS_INLINE { return __builtin_fmaf(sum, half, half); });
  float all = 0;
  for (const float sum : sums) all += sum;
  if (all < 0) *p.result = kNever;
}
