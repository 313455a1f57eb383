// C = A B^T of bytes: 32 x 16 a block of two warps.
#include "device.h"

constexpr u32 kDepth = 64, kPitch = kDepth + 16;

KERNEL void product_s8(const i8* a, const i8* b, i32* c, u32 n, u32 k) {
  SHARED static i8 tile_a[32 * kPitch];
  SHARED static i8 tile_b[16 * kPitch];
  i32 sums[2][4] = {};
#pragma unroll 1
  for (u32 first = 0; first < k; first += kDepth) {
    for (u32 chunk = thread(); chunk < 48 * kDepth / 16; chunk += 64) {
      const u32 row = chunk / 4, column = chunk % 4 * 16;
      if (row < 32) {
        copy_async(tile_a + row * kPitch + column,
                   a + (u64)(block_y() * 32 + row) * k + first + column);
      } else {
        copy_async(tile_b + (row - 32) * kPitch + column,
                   b + (u64)(block() * 16 + row - 32) * k + first + column);
      }
    }
    commit_copies();
    wait_copies<0>();
    barrier();
    for (u32 i = 0; i < kDepth; i += 32) {
      u32 fa[4], fb[4];
      load_matrices(fa, tile_a + (warp() * 16 + lane() % 16) * kPitch + i + lane() / 16 * 16);
      load_matrices(fb, tile_b + (lane() / 16 * 8 + lane() % 8) * kPitch + i + lane() / 8 % 2 * 16);
      mma_s8(sums[0], fa, fb[0], fb[1]);
      mma_s8(sums[1], fa, fb[2], fb[3]);
    }
    barrier();
  }
  for (u32 j = 0; j < 2; ++j) {
    for (u32 i = 0; i < 4; ++i) {
      const u32 row = block_y() * 32 + warp() * 16 + lane() / 4 + i / 2 * 8;
      c[(u64)row * n + block() * 16 + 8 * j + lane() % 4 * 2 + i % 2] = sums[j][i];
    }
  }
}
