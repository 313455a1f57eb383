// The device side of CUDA as far as these kernels use it, over clang's builtins: no toolkit needed.
#pragma once

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device, always_inline))
#define FUNCTION __attribute__((device, noinline))
#define SHARED __attribute__((shared))

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

constexpr u32 kAll = 0xFFFFFFFFu;

DEVICE u32 thread() {
  return __nvvm_read_ptx_sreg_tid_x();
}
DEVICE u32 threads() {
  return __nvvm_read_ptx_sreg_ntid_x();
}
DEVICE u32 block() {
  return __nvvm_read_ptx_sreg_ctaid_x();
}
DEVICE u32 block_y() {
  return __nvvm_read_ptx_sreg_ctaid_y();
}
DEVICE u32 blocks() {
  return __nvvm_read_ptx_sreg_nctaid_x();
}
DEVICE u32 lane() {
  return thread() % 32;
}
DEVICE u32 warp() {
  return thread() / 32;
}
DEVICE u32 place() {
  return block() * threads() + thread();
}

DEVICE void barrier() {
  __syncthreads();
}
DEVICE void warp_barrier() {
  __nvvm_bar_warp_sync(kAll);
}
DEVICE void fence() {
  __nvvm_membar_gl();
}
DEVICE void block_fence() {
  __nvvm_membar_cta();
}

DEVICE float exp2_fast(float x) {
  return __nvvm_ex2_approx_f(x);
}
DEVICE float rsqrt_fast(float x) {
  return __nvvm_rsqrt_approx_f(x);
}
DEVICE float largest(float a, float b) {
  return __builtin_fmaxf(a, b);
}
constexpr float kLog2E = 1.44269504f;

DEVICE float shuffle_xor(float v, u32 mask) {
  return __nvvm_shfl_sync_bfly_f32(kAll, v, mask, 31);
}
DEVICE i32 shuffle_xor(i32 v, u32 mask) {
  return __nvvm_shfl_sync_bfly_i32(kAll, v, mask, 31);
}
DEVICE i32 shuffle_up(i32 v, u32 distance) {
  return __nvvm_shfl_sync_up_i32(kAll, v, distance, 0);
}

DEVICE float warp_sum(float v) {
  for (u32 mask = 16; mask > 0; mask /= 2) v += shuffle_xor(v, mask);
  return v;
}
DEVICE float warp_largest(float v) {
  for (u32 mask = 16; mask > 0; mask /= 2) v = largest(v, shuffle_xor(v, mask));
  return v;
}

/// Of all threads of the block, in each of them.
template <class Combine>
DEVICE float block_reduce(float value, float neutral, Combine combine) {
  SHARED static float parts[32];
  for (u32 mask = 16; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  barrier();
  if (lane() == 0) parts[warp()] = value;
  barrier();
  value = lane() < threads() / 32 ? parts[lane()] : neutral;
  for (u32 mask = 16; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  return value;
}
struct Add {
  __attribute__((device)) float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  __attribute__((device)) float operator()(float a, float b) const { return largest(a, b); }
};
DEVICE float block_sum(float v) {
  return block_reduce(v, 0.0f, Add{});
}
DEVICE float block_largest(float v) {
  return block_reduce(v, -__builtin_inff(), Largest{});
}

DEVICE u32 shared_address(const void* p) {
  return (u32)(u64)(const __attribute__((address_space(3))) void*)p;
}
/// 16 bytes to shared memory, in the background.
DEVICE void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
DEVICE void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four 8 x 8 matrices of 16-bit elements.
DEVICE void load_matrices(u32 (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void load_transposed(u32 (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
#define MMA_FLOAT(FORM)                                                                          \
  asm volatile("mma.sync.aligned." FORM " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                  \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
struct F16 {
  DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    MMA_FLOAT("m16n8k16.row.col.f32.f16.f16.f32");
  }
};
struct Bf16 {
  DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    MMA_FLOAT("m16n8k16.row.col.f32.bf16.bf16.f32");
  }
};
struct Tf32 {
  DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    MMA_FLOAT("m16n8k8.row.col.f32.tf32.tf32.f32");
  }
};
DEVICE void mma_s8(i32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
      " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE u32 pack_f16(float low, float high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
