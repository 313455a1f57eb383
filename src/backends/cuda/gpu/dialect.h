// All that kernels have of CUDA's language, over clang's builtins: no toolkit is needed.
#pragma once

#include "backends/cuda/gpu/shared.h"

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device, always_inline))
/// Of a lambda, before its body.
#define ALWAYS_INLINE __attribute__((always_inline))
#define SHARED static __attribute__((shared))

namespace shunt::cuda::gpu {

inline constexpr u32 kAllLanes = 0xFFFFFFFFu;
inline constexpr u32 kWarp = 32;

// The place of a thread. Blocks and grids have one dimension.
DEVICE u32 thread() {
  return __nvvm_read_ptx_sreg_tid_x();
}
DEVICE u32 threads() {
  return __nvvm_read_ptx_sreg_ntid_x();
}
DEVICE u32 lane() {
  return thread() % kWarp;
}
DEVICE u32 warp() {
  return thread() / kWarp;
}
DEVICE u32 warps() {
  return threads() / kWarp;
}
DEVICE i64 block() {
  return __nvvm_read_ptx_sreg_ctaid_x();
}
DEVICE i64 blocks() {
  return __nvvm_read_ptx_sreg_nctaid_x();
}

DEVICE void barrier() {
  __syncthreads();
}

DEVICE float shuffle_xor(float value, u32 mask) {
  return __nvvm_shfl_sync_bfly_f32(kAllLanes, value, mask, 31);
}
/// The value of a lane.
DEVICE float shuffle(float value, u32 from) {
  return __nvvm_shfl_sync_idx_f32(kAllLanes, value, (i32)from, 31);
}
DEVICE i64 shuffle(i64 value, u32 from) {
  const i32 low = __nvvm_shfl_sync_idx_i32(kAllLanes, (i32)value, (i32)from, 31);
  const i32 high = __nvvm_shfl_sync_idx_i32(kAllLanes, (i32)(value >> 32), (i32)from, 31);
  return (i64)high << 32 | (u32)low;
}
DEVICE u32 shuffle(u32 value, u32 from) {
  return (u32)__nvvm_shfl_sync_idx_i32(kAllLanes, (i32)value, (i32)from, 31);
}
DEVICE void warp_barrier() {
  __nvvm_bar_warp_sync(kAllLanes);
}
/// Four of the eight bytes low[0] to low[3], high[0] to high[3], by four numbers of 4 bits.
DEVICE u32 choose_bytes(u32 low, u32 high, u32 places) {
  return __nvvm_prmt(low, high, places);
}
/// sum + the products of four pairs of signed bytes.
DEVICE i32 multiply_bytes(u32 a, u32 b, i32 sum) {
  i32 result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}
DEVICE u32 compare_and_swap(u32* at, u32 expected, u32 value) {
  return __nvvm_atom_cas_gen_i((i32*)at, (i32)expected, (i32)value);
}
/// The place of the lowest bit that is set.
DEVICE u32 first_bit(u32 bits) {
  return (u32)__builtin_popcount((bits & -bits) - 1);
}
/// Lanes for which `value` holds, as bits.
DEVICE u32 ballot(bool value) {
  return __nvvm_vote_ballot_sync(kAllLanes, value);
}
/// The lanes that have the same value as this one, as bits. No value is above `most`.
DEVICE u32 lanes_alike(u32 value, u32 most) {
  u32 lanes = kAllLanes;
  for (u32 rest = most; rest != 0; rest /= 2, value /= 2) {
    const u32 odd = ballot(value % 2 != 0);
    lanes &= value % 2 != 0 ? odd : ~odd;
  }
  return lanes;
}
/// Makes earlier writes visible to the device and to the host before later ones.
DEVICE void fence_system() {
  __nvvm_membar_sys();
}

DEVICE float add(float a, float b) {
  return a + b;
}
DEVICE float largest(float a, float b) {
  return __builtin_fmaxf(a, b);
}
/// The larger one; not-a-number is the largest.
DEVICE float largest_or_nan(float a, float b) {
  return a > b || a != a ? a : b;
}

/// f of all lanes' values, in each lane. The order is the same in every run.
template <float (*kCombine)(float, float)>
DEVICE float warp_reduce(float value) {
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) value = kCombine(value, shuffle_xor(value, mask));
  return value;
}
/// Sums of N values over the lanes, N a power of two up to 32: lane i gets the sum of value
/// i / (32 / N). It has that sum's order in warp_reduce().
template <int N, u32 kMask = kWarp / 2>
DEVICE float warp_sums(float* values) {
  if constexpr (kMask == 0) {
    return values[0];
  } else if constexpr (N == 1) {
    values[0] += shuffle_xor(values[0], kMask);
    return warp_sums<1, kMask / 2>(values);
  } else {
    const bool upper = (lane() & kMask) != 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const float low = values[i], high = values[i + N / 2];
      values[i] = (upper ? high : low) + shuffle_xor(upper ? low : high, kMask);
    }
    return warp_sums<N / 2, kMask / 2>(values);
  }
}
}  // namespace shunt::cuda::gpu
