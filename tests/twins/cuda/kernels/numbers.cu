#include "device.h"

/// Horner's scheme with fused multiply-adds, division and square root.
KERNEL void f64_polynomial(const double* x, double* y) {
  const double v = x[place()];
  double sum = 1.0 / 5040;
  sum = __builtin_fma(sum, v, 1.0 / 120);
  sum = __builtin_fma(sum, v, -1.0 / 6);
  sum = __builtin_fma(sum, v, 1.0);
  y[place()] = __builtin_sqrt(v * v + 1) / (sum * sum + 0.25);
}

/// y = x a + y in pairs of bf16, rounded once.
KERNEL void bf16_pairs(const u32* x, u32* y, u32 a) {
  u32 result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(x[place()]), "r"(a), "r"(y[place()]));
  y[place()] = result;
}

/// The same, of f16.
KERNEL void f16_pairs(const u32* x, u32* y, u32 a) {
  u32 result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(x[place()]), "r"(a), "r"(y[place()]));
  y[place()] = result;
}

KERNEL void integers_64(const i64* x, const i64* y, i64* out) {
  const i64 a = x[place()], b = y[place()];
  i64 r = a * b;
  r ^= a / b + (i64)((u64)a / (u64)b);
  r += a % b - (i64)((u64)a % (u64)b);
  r ^= (a >> (b & 63)) + (i64)((u64)a << (b & 31));
  r += (i64)((unsigned __int128)(u64)a * (u64)b >> 64);
  r ^= a < b ? a : -b;
  out[place()] = r;
}
