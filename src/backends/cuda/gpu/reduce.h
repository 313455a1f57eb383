// Values of all threads of a block as one, of any type of 4 or 8 bytes. The order is the same in
// every run.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

/// The value of the lane whose number differs in the bits of `mask`.
template <class T>
DEVICE T exchanged(T value, u32 mask) {
  struct Words {
    i32 each[sizeof(T) / sizeof(i32)];
  };
  Words words = __builtin_bit_cast(Words, value);
  for (i32& each : words.each) each = shuffle_xor(each, mask);
  return __builtin_bit_cast(T, words);
}

/// Of a thread of a block: the sum of the values of the threads before it, and that of all.
struct RunningSum {
  u32 before, total;
};
/// All threads of the block must call it.
DEVICE RunningSum block_running_sum(u32 value) {
  SHARED u32 parts[kWarp];
  u32 sum = value;  // of the lanes up to this one
  for (u32 distance = 1; distance < kWarp; distance *= 2) {
    const u32 other = shuffle_up(sum, distance);
    if (lane() >= distance) sum += other;
  }
  barrier();
  if (lane() == kWarp - 1) parts[warp()] = sum;
  barrier();
  RunningSum result = {sum - value, 0};
  for (u32 w = 0; w < warps(); ++w) {
    if (w < warp()) result.before += parts[w];
    result.total += parts[w];
  }
  return result;
}

/// combine(a, b) of all threads' values, in each of them. All of them must call it. `nothing`
/// makes no difference to a value that it is combined with.
template <class T, class F>
DEVICE T block_reduce(T value, T nothing, const F& combine) {
  SHARED T parts[kWarp];
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) value = combine(value, exchanged(value, mask));
  barrier();
  if (lane() == 0) parts[warp()] = value;
  barrier();
  value = lane() < warps() ? parts[lane()] : nothing;
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) value = combine(value, exchanged(value, mask));
  return value;
}
/// The sum of all threads' values, in each of them. All of them must call it.
template <class T>
DEVICE T block_sum(T value) {
  return block_reduce(value, (T)0, [](T a, T b) { return a + b; });
}

}  // namespace shunt::cuda::gpu
