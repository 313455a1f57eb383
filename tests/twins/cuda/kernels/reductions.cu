#include "device.h"

KERNEL void warp_sums(const float* __restrict x, float* y) {
  const float sum = warp_sum(x[place()]);
  if (lane() == 0) y[place() / 32] = sum;
}

DEVICE i32 reduce_largest(i32 v) {
  i32 result;
  asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(v));
  return result;
}
/// Of each warp: the largest number, and which lanes have it.
KERNEL void warp_largest_lanes(const i32* __restrict x, i32* values, u32* lanes) {
  const i32 v = x[place()];
  const i32 most = reduce_largest(v);
  const u32 who = __nvvm_vote_ballot_sync(kAll, v == most);
  if (lane() == 0) {
    values[place() / 32] = most;
    lanes[place() / 32] = who;
  }
}

KERNEL void block_sums(const float* __restrict x, float* y) {
  const float sum = block_sum(x[place()]);
  if (thread() == 0) y[block()] = sum;
}

/// The block that ends last adds the parts of all.
KERNEL void last_block_sum(const float* __restrict x, float* parts, u32* finished, float* y) {
  SHARED static bool is_last;
  const float sum = block_sum(x[place()]);
  if (thread() == 0) {
    parts[block()] = sum;
    fence();
    is_last = __nvvm_atom_add_gen_i((int*)finished, 1) == (int)blocks() - 1;
    fence();
  }
  barrier();
  if (!is_last) return;
  float all = 0;
  for (u32 i = thread(); i < blocks(); i += threads()) all += parts[i];
  all = block_sum(all);
  if (thread() == 0) *y = all;
}

/// Index of the largest number, the first of equal ones.
KERNEL void argmax(const float* __restrict x, u32* y, u32 n) {
  SHARED static float values[8];
  SHARED static i32 places[8];
  float best = -__builtin_inff();
  i32 at = (i32)n;
  for (u32 i = thread(); i < n; i += threads()) {
    if (x[block() * n + i] > best) {
      best = x[block() * n + i];
      at = (i32)i;
    }
  }
  const auto reduce = [&] __attribute__((device)) () {
    for (u32 mask = 16; mask > 0; mask /= 2) {
      const float other = shuffle_xor(best, mask);
      const i32 other_at = shuffle_xor(at, mask);
      if (other > best || (other == best && other_at < at)) {
        best = other;
        at = other_at;
      }
    }
  };
  reduce();
  if (lane() == 0) {
    values[warp()] = best;
    places[warp()] = at;
  }
  barrier();
  if (warp() != 0) return;
  best = lane() < 8 ? values[lane()] : -__builtin_inff();
  at = lane() < 8 ? places[lane()] : (i32)n;
  reduce();
  if (lane() == 0) y[block()] = (u32)at;
}

/// All blocks of a cooperative launch meet twice, with a counter that they increment.
DEVICE void grid_barrier(u32* arrived, u32 goal) {
  barrier();
  if (thread() == 0) {
    fence();
    __nvvm_atom_add_gen_i((int*)arrived, 1);
    while (*(volatile u32*)arrived < goal) {
    }
    fence();
  }
  barrier();
}
KERNEL void cooperative_sum(const float* __restrict x, float* parts, u32* arrived, float* y,
                            u32 n) {
  float sum = 0;
  for (u32 i = place(); i < n; i += blocks() * threads()) sum += x[i];
  sum = block_sum(sum);
  if (thread() == 0) parts[block()] = sum;
  grid_barrier(arrived, blocks());
  sum = 0;
  for (u32 i = 0; i < blocks(); ++i) sum += parts[i];
  if (thread() == 0) y[block()] = sum;
  grid_barrier(arrived, 2 * blocks());
  if (thread() == 0) parts[block()] = y[(block() + 1) % blocks()];
}
