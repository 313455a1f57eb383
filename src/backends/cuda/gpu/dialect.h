// All that kernels have of CUDA's language, over clang's builtins: no toolkit is needed.
#pragma once

#if !defined(__clang__) || __clang_major__ < 19
#error "kernels need clang++ 19 or newer"
#endif

#include "backends/cuda/gpu/shared.h"

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device, always_inline))
/// Of a member function or a variable.
#define ON_DEVICE __attribute__((device))
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
DEVICE i32 shuffle_xor(i32 value, u32 mask) {
  return __nvvm_shfl_sync_bfly_i32(kAllLanes, value, (i32)mask, 31);
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
/// The value of the lane `distance` below; its own where there is none.
DEVICE float shuffle_up(float value, u32 distance) {
  return __nvvm_shfl_sync_up_f32(kAllLanes, value, distance, 0);
}
DEVICE u32 shuffle_up(u32 value, u32 distance) {
  return (u32)__nvvm_shfl_sync_up_i32(kAllLanes, (i32)value, (i32)distance, 0);
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
/// Whether the level of this module has tensor cores.
inline constexpr bool kHasTensorCores = __CUDA_ARCH__ >= 800;
/// A product of matrices of a warp: 16 rows of 32 numbers of 8 bits times 8 columns. Lane 4 g + t
/// gives two groups of eight numbers, 8 t and after, of rows g and g + 8, and such a group of
/// column g. It gets the sums of rows g and g + 8 with columns 2 t and 2 t + 1: (g, 2 t), (g, 2 t +
/// 1), (g + 8, 2 t), (g + 8, 2 t + 1).
DEVICE void multiply_tiles(const u32 (&row)[2], const u32 (&row_8)[2], const u32 (&column)[2],
                           i32 (&sums)[4]) {
  // The instruction has k = 4 t to 4 t + 3 in a lane's first number, and 16 more in its second. Any
  // order of k will do, as that of rows and columns is the same.
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %10, %10, %10};"
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
      : "r"(row[0]), "r"(row_8[0]), "r"(row[1]), "r"(row_8[1]), "r"(column[0]), "r"(column[1]),
        "r"(0));
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
/// Makes earlier writes visible to the device and to the host before later ones.
DEVICE void fence_system() {
  __nvvm_membar_sys();
}

}  // namespace shunt::cuda::gpu
