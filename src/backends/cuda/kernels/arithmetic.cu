// An element a thread. The second operand is repeated along the dimensions that it divides.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/arithmetic.h"

using namespace shunt::cuda::gpu;

namespace {

template <class A, class B>
DEVICE void compute(const ArithmeticArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor a = tensor_of(p.a, run), b = tensor_of(p.b, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const float left = load<A>(row_at(a, at), i, a.stride[0]);
    const u8* row = row_at(b, at.i1 % b.n[1], at.i2 % b.n[2], at.i3 % b.n[3]);
    const float right = load<B>(row, i % b.n[0], b.stride[0]);
    float value = left / right;
    if (p.op == kAdd) value = left + right;
    if (p.op == kSub) value = left - right;
    if (p.op == kMul) value = left * right;
    store<A>(row_at(y, at), i, y.stride[0], value);
  });
}

}  // namespace

#define ARITHMETIC(A, B)                               \
  KERNEL void arithmetic_##A##_##B(ArithmeticArgs p) { \
    compute<A, B>(p);                                  \
  }
FOR_SINGLE_PAIRS(ARITHMETIC)
