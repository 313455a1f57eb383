// All that kernels have of CUDA's language, over clang's builtins: no toolkit is needed.
#pragma once

#include "backends/cuda/gpu/shared.h"

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device, always_inline))
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
DEVICE u32 compare_and_swap(u32* at, u32 expected, u32 value) {
  return __nvvm_atom_cas_gen_i((i32*)at, (i32)expected, (i32)value);
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

/// f of all lanes' values, in each lane. The order is the same in every run.
template <float (*kCombine)(float, float)>
DEVICE float warp_reduce(float value) {
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) value = kCombine(value, shuffle_xor(value, mask));
  return value;
}
/// The sum of all threads of a block, in each of them. All of them must call it.
DEVICE float block_sum(float value) {
  SHARED float parts[kWarp];
  value = warp_reduce<add>(value);
  barrier();
  if (lane() == 0) parts[warp()] = value;
  barrier();
  value = lane() < warps() ? parts[lane()] : 0.0f;
  return warp_reduce<add>(value);
}

}  // namespace shunt::cuda::gpu
