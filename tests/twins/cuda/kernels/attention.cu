// softmax(scale Q K^T) V for heads of 64 elements, with the softmax as the keys come: 64 queries a
// block of four warps, 16 keys a step.
#include "device.h"

constexpr u32 kHead = 64, kKeys = 16, kPitch = kHead + 8;

DEVICE void load_keys(u16* to, const u16* from) {
  const u32 row = thread() / 8, column = thread() % 8 * 8;
  copy_async(to + row * kPitch + column, from + row * kHead + column);
}

KERNEL void attention(const u16* q, const u16* k, const u16* v, float* out, u32 keys, float scale) {
  SHARED static u16 tile_q[64 * kPitch];
  SHARED static u16 tile_k[kKeys * kPitch];
  SHARED static u16 tile_v[kKeys * kPitch];
  const u64 queries = (u64)blocks() * 64;
  q += (block_y() * queries + block() * 64) * kHead;
  out += (block_y() * queries + block() * 64) * kHead;
  k += (u64)block_y() * keys * kHead;
  v += (u64)block_y() * keys * kHead;
  for (u32 i = 0; i < 64; i += 16) load_keys(tile_q + i * kPitch, q + i * kHead);
  commit_copies();
  wait_copies<0>();
  barrier();
  u32 fq[4][4];
  for (u32 i = 0; i < 4; ++i) {
    load_matrices(fq[i], tile_q + (warp() * 16 + lane() % 16) * kPitch + 16 * i + lane() / 16 * 8);
  }
  float sums[8][4] = {};
  float most[2] = {-__builtin_inff(), -__builtin_inff()};
  float total[2] = {0, 0};
#pragma unroll 1
  for (u32 first = 0; first < keys; first += kKeys) {
    barrier();
    load_keys(tile_k, k + first * kHead);
    load_keys(tile_v, v + first * kHead);
    commit_copies();
    wait_copies<0>();
    barrier();
    float scores[2][4] = {};
    for (u32 i = 0; i < 4; ++i) {
      u32 fk[4];
      load_matrices(fk,
                    tile_k + (lane() / 16 * 8 + lane() % 8) * kPitch + 16 * i + lane() / 8 % 2 * 8);
      F16::mma(scores[0], fq[i], fk[0], fk[1]);
      F16::mma(scores[1], fq[i], fk[2], fk[3]);
    }
    for (u32 half = 0; half < 2; ++half) {
      float now = most[half];
      for (u32 j = 0; j < 4; ++j) {
        float& score = scores[j / 2][2 * half + j % 2];
        score *= scale * kLog2E;
        now = largest(now, score);
      }
      now = largest(now, shuffle_xor(now, 1));
      now = largest(now, shuffle_xor(now, 2));
      const float correction = exp2_fast(most[half] - now);
      most[half] = now;
      total[half] *= correction;
      for (u32 j = 0; j < 8; ++j) {
        sums[j][2 * half] *= correction;
        sums[j][2 * half + 1] *= correction;
      }
      for (u32 j = 0; j < 4; ++j) {
        float& score = scores[j / 2][2 * half + j % 2];
        score = exp2_fast(score - now);
        total[half] += score;
      }
    }
    const u32 p[4] = {pack_f16(scores[0][0], scores[0][1]), pack_f16(scores[0][2], scores[0][3]),
                      pack_f16(scores[1][0], scores[1][1]), pack_f16(scores[1][2], scores[1][3])};
    for (u32 j = 0; j < 8; j += 2) {
      u32 fv[4];
      load_transposed(fv, tile_v + lane() % 16 * kPitch + 8 * j + lane() / 16 * 8);
      F16::mma(sums[j], p, fv[0], fv[1]);
      F16::mma(sums[j + 1], p, fv[2], fv[3]);
    }
  }
  for (u32 half = 0; half < 2; ++half) {
    total[half] += shuffle_xor(total[half], 1);
    total[half] += shuffle_xor(total[half], 2);
    const u32 row = warp() * 16 + lane() / 4 + 8 * half;
    for (u32 j = 0; j < 8; ++j) {
      out[row * kHead + 8 * j + lane() % 4 * 2] = sums[j][2 * half] / total[half];
      out[row * kHead + 8 * j + lane() % 4 * 2 + 1] = sums[j][2 * half + 1] / total[half];
    }
  }
}
