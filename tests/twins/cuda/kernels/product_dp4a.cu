// y = W x with bytes, a scale for each 32 of them: one row a warp.
#include "device.h"

DEVICE i32 dp4a(i32 a, i32 b, i32 c) {
  i32 d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

KERNEL void product_dp4a(const i32* __restrict weights, const float* __restrict weight_scales,
                         const i32* __restrict x, const float* __restrict x_scales, float* y,
                         u32 groups) {
  const u32 row = block() * (threads() / 32) + warp();
  float sum = 0;
  for (u32 group = lane(); group < groups; group += 32) {
    const i32* w = weights + ((u64)row * groups + group) * 8;
    i32 part = 0;
    for (u32 i = 0; i < 8; ++i) part = dp4a(w[i], x[group * 8 + i], part);
    sum += weight_scales[(u64)row * groups + group] * x_scales[group] * (float)part;
  }
  sum = warp_sum(sum);
  if (lane() == 0) y[row] = sum;
}
