// C = A B^T with 16-bit elements: tiles of 64 x 64 a block of four warps, 32 deep, two tiles in
// flight.
#pragma once

#include "device.h"

constexpr u32 kTile = 64, kDepth = 32, kPitch = kDepth + 8;

struct Tiles {
  u16 a[kTile * kPitch];
  u16 b[kTile * kPitch];
};

DEVICE void load_tile(u16* to, const u16* from, u32 k) {
  for (u32 i = 0; i < 2; ++i) {
    const u32 chunk = thread() + 128 * i;
    copy_async(to + chunk / 4 * kPitch + chunk % 4 * 8,
               from + (u64)(chunk / 4) * k + chunk % 4 * 8);
  }
}

template <class Type>
DEVICE void multiply_tile(float (&sums)[2][4][4], const Tiles& tiles, u32 row, u32 column) {
  for (u32 k = 0; k < kDepth; k += 16) {
    u32 a[2][4], b[2][4];
    for (u32 i = 0; i < 2; ++i) {
      load_matrices(a[i], tiles.a + (row + 16 * i + lane() % 16) * kPitch + k + lane() / 16 * 8);
      load_matrices(b[i], tiles.b + (column + 16 * i + lane() / 16 * 8 + lane() % 8) * kPitch + k +
                              lane() / 8 % 2 * 8);
    }
    for (u32 i = 0; i < 2; ++i) {
      for (u32 j = 0; j < 4; ++j) {
        Type::mma(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
}

template <class Type>
DEVICE void product(const u16* a, const u16* b, float* c, u32 n, u32 k) {
  SHARED static Tiles tiles[2];
  a += (u64)block_y() * kTile * k;
  b += (u64)block() * kTile * k;
  const u32 row = warp() / 2 * 32, column = warp() % 2 * 32;
  float sums[2][4][4] = {};
  const auto load = [&] __attribute__((device, always_inline)) (u32 step) {
    load_tile(tiles[step % 2].a, a + step * kDepth, k);
    load_tile(tiles[step % 2].b, b + step * kDepth, k);
    commit_copies();
  };
  const u32 steps = k / kDepth;
  load(0);
#pragma unroll 1
  for (u32 step = 0; step < steps; ++step) {
    if (step + 1 < steps) {
      load(step + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    barrier();
    multiply_tile<Type>(sums, tiles[step % 2], row, column);
    barrier();
  }
  for (u32 i = 0; i < 2; ++i) {
    for (u32 j = 0; j < 4; ++j) {
      for (u32 half = 0; half < 2; ++half) {
        const u32 y = block_y() * kTile + row + 16 * i + 8 * half + lane() / 4;
        const u32 x = block() * kTile + column + 8 * j + lane() % 4 * 2;
        c[(u64)y * n + x] = sums[i][j][2 * half];
        c[(u64)y * n + x + 1] = sums[i][j][2 * half + 1];
      }
    }
  }
}
