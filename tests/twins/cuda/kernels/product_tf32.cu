// C = A B^T of floats: 16 x 16 a warp, straight from a tile in shared memory.
#include "device.h"

constexpr u32 kDepth = 32, kPitch = kDepth + 4;

KERNEL void product_tf32(const u32* a, const u32* b, float* c, u32 n, u32 k) {
  SHARED static u32 tile_a[16 * kPitch];
  SHARED static u32 tile_b[16 * kPitch];
  float sums[2][4] = {};
  const u32 group = lane() / 4, t = lane() % 4;
#pragma unroll 1
  for (u32 first = 0; first < k; first += kDepth) {
    for (u32 chunk = thread(); chunk < 16 * kDepth / 4; chunk += 32) {
      const u32 row = chunk / 8, column = chunk % 8 * 4;
      copy_async(tile_a + row * kPitch + column,
                 a + (u64)(block_y() * 16 + row) * k + first + column);
      copy_async(tile_b + row * kPitch + column,
                 b + (u64)(block() * 16 + row) * k + first + column);
    }
    commit_copies();
    wait_copies<0>();
    warp_barrier();
    for (u32 i = 0; i < kDepth; i += 8) {
      const u32* at = tile_a + group * kPitch + i + t;
      const u32 fragment[4] = {at[0], at[8 * kPitch], at[4], at[8 * kPitch + 4]};
      for (u32 j = 0; j < 2; ++j) {
        const u32* bt = tile_b + (8 * j + group) * kPitch + i + t;
        Tf32::mma(sums[j], fragment, bt[0], bt[4]);
      }
    }
    warp_barrier();
  }
  for (u32 j = 0; j < 2; ++j) {
    for (u32 i = 0; i < 4; ++i) {
      c[(u64)(block_y() * 16 + group + i / 2 * 8) * n + block() * 16 + 8 * j + 2 * t + i % 2] =
          sums[j][i];
    }
  }
}
