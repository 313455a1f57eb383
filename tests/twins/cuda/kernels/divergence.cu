// Lanes of a warp that go different ways.
#include "device.h"

KERNEL void nested_ifs(const i32* x, i32* y) {
  i32 v = x[place()];
  if (v % 2 == 0) {
    if (v % 3 == 0) {
      v = v * 5 - 1;
      if (v > 100) v -= *(volatile const i32*)(x + place() % 7);
    } else {
      v = v ^ 0x55;
    }
  } else if (v % 5 == 1) {
    v = v / 3 + *(volatile const i32*)(x + v % 11);
  } else {
    v = -v;
  }
  y[place()] = v;
}

/// Steps of the 3n + 1 sequence to 1: another count in each lane.
KERNEL void loop_counts(const u32* x, u32* y) {
  u64 v = x[place()];
  u32 steps = 0;
#pragma unroll 1
  while (v != 1) {
    v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    if (++steps > 500) break;
  }
  y[place()] = steps;
}

KERNEL void early_exit(const i32* x, i32* y, u32 n) {
  if (place() >= n) return;
  y[place()] = 1;
  if (x[place()] < 0) return;
  i32 sum = 0;
#pragma unroll 1
  for (i32 i = 0; i < x[place()]; ++i) {
    sum += i * i;
    if (sum > 1000) {
      y[place()] = -sum;
      return;
    }
  }
  y[place()] = sum;
}

KERNEL void switch_cases(const u32* x, u32* y) {
  u32 v = x[place()];
  switch (v % 8) {
    case 0:
      v = v * v;
      break;
    case 1:
      v = v << 3 | v >> 29;
      break;
    case 2:
      v = ~v;
      [[fallthrough]];
    case 3:
      v = v / 7;
      break;
    case 4:
      v = (u32)__builtin_popcount(v);
      break;
    case 5:
      v = (u32)__builtin_clz(v);
      break;
    case 6:
      v = __builtin_bitreverse32(v);
      break;
    default:
      v = v - 1;
  }
  y[place()] = v;
}

/// Lanes of a warp take a lock one after the other, and add to a number that it guards.
KERNEL void lanes_spin(u32* lock, u32* number, u32* order) {
  bool done = false;
#pragma unroll 1
  while (!done) {
    if (__nvvm_atom_cas_gen_i((int*)lock, 0, 1) == 0) {
      fence();
      order[place()] = *number;
      *number = *number + 1;
      fence();
      __nvvm_atom_xchg_gen_i((int*)lock, 0);
      done = true;
    }
  }
}

FUNCTION u32 power(u32 base, u32 exponent) {
  u32 result = 1;
#pragma unroll 1
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}
FUNCTION u64 sum_of_powers(u32 base, u32 most) {
  u64 sum = 0;
#pragma unroll 1
  for (u32 i = 0; i <= most; ++i) sum += power(base, i);
  return sum;
}
KERNEL void calls(const u32* x, u64* y) {
  const u32 v = x[place()];
  y[place()] = v % 3 == 0 ? sum_of_powers(v, v % 13) : power(v, v % 5);
}

FUNCTION float twice(float v) {
  return v * 2;
}
FUNCTION float square(float v) {
  return v * v;
}
FUNCTION float negative(float v) {
  return -v;
}
__attribute__((device)) float (*const kFunctions[3])(float) = {twice, square, negative};
KERNEL void indirect_calls(const u32* which, const float* x, float* y) {
  y[place()] = kFunctions[which[place()]](x[place()]);
}
