// A kernel for each function of gpu/math.h that math_test compares with double precision.
#include "backends/cuda/gpu/activations.h"

using namespace shunt::cuda::gpu;

#define OF_ONE(NAME)                                                                     \
  KERNEL void NAME##_of_each(const float* x, float* y, i64 count) {                      \
    for (i64 i = block() * threads() + thread(); i < count; i += blocks() * threads()) { \
      y[i] = NAME(x[i]);                                                                 \
    }                                                                                    \
  }
OF_ONE(exp)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log1p)
OF_ONE(sin)
OF_ONE(cos)
OF_ONE(tanh)
OF_ONE(erf)
OF_ONE(erfc)
OF_ONE(sigmoid)
OF_ONE(silu)
OF_ONE(gelu)
OF_ONE(gelu_erf)
OF_ONE(gelu_quick)

/// Of neighbours.
KERNEL void pow_of_each(const float* x, float* y, i64 count) {
  for (i64 i = block() * threads() + thread(); i < count; i += blocks() * threads()) {
    y[i] = pow(x[2 * i], x[2 * i + 1]);
  }
}
