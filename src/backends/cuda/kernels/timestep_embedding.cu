// Sines and cosines of time steps: a pair a thread. Angles are in double precision.
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/timestep_embedding.h"

using namespace shunt::cuda::gpu;

KERNEL void timestep_embedding(TimestepEmbeddingArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  const i64 half = y.n[0] / 2;
  const i64 work = y.n[0] - half;  // an odd one is 0
  const i64 count = work * y.n[1];
  const Tensor t = tensor_of(p.t, run);
  for (i64 e = block() * threads() + thread(); e < count; e += blocks() * threads()) {
    const i64 j = e % work, n = e / work;
    float* to = (float*)row_at(y, n, 0, 0);
    if (j == half) {
      to[2 * half] = 0;
      continue;
    }
    const u8* step = t.data + n * t.stride[0];
    const double time = p.integers != 0 ? *(const i32*)step : *(const float*)step;
    const SinCos turn = sin_cos(time * exp(-p.log_period * (double)j / (double)half));
    to[j] = (float)turn.cos;
    to[half + j] = (float)turn.sin;
  }
}
