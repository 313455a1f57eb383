// One row a block.
#include "device.h"

KERNEL void rms_norm(const float* __restrict x, const float* __restrict weight, float* y, u32 n,
                     float epsilon) {
  const float* row = x + (u64)block() * n;
  float sum = 0;
  for (u32 i = thread(); i < n; i += threads()) sum += row[i] * row[i];
  const float scale = rsqrt_fast(block_sum(sum) / n + epsilon);
  for (u32 i = thread(); i < n; i += threads())
    y[(u64)block() * n + i] = row[i] * scale * weight[i];
}

KERNEL void layer_norm(const float* __restrict x, const float* __restrict weight,
                       const float* __restrict bias, float* y, u32 n, float epsilon) {
  const float* row = x + (u64)block() * n;
  float sum = 0;
  for (u32 i = thread(); i < n; i += threads()) sum += row[i];
  const float mean = block_sum(sum) / n;
  float squares = 0;
  for (u32 i = thread(); i < n; i += threads()) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = 1.0f / __builtin_sqrtf(block_sum(squares) / n + epsilon);
  for (u32 i = thread(); i < n; i += threads()) {
    y[(u64)block() * n + i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
}

KERNEL void softmax(const float* __restrict x, float* y, u32 n) {
  const float* row = x + (u64)block() * n;
  float most = -__builtin_inff();
  for (u32 i = thread(); i < n; i += threads()) most = largest(most, row[i]);
  most = block_largest(most);
  float sum = 0;
  for (u32 i = thread(); i < n; i += threads()) sum += exp2_fast((row[i] - most) * kLog2E);
  const float scale = 1.0f / block_sum(sum);
  for (u32 i = thread(); i < n; i += threads()) {
    y[(u64)block() * n + i] = exp2_fast((row[i] - most) * kLog2E) * scale;
  }
}
