// Functions of one element, an element a thread. All threads of a launch take the same case.
#include "backends/cuda/gpu/activations.h"
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/unary.h"

using namespace shunt::cuda::gpu;

namespace {

/// x between two bounds. Not-a-number stays.
DEVICE float bounded(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

/// x softplus(alpha_p) and so on, as the op has it. In double precision, as both terms may nearly
/// cancel.
DEVICE float xielu(double x, double positive, double negative, double beta, double eps) {
  const double curve = x > 0 ? positive * x * x : negative * (expm1(x < eps ? x : eps) - x);
  return (float)(curve + beta * x);
}

DEVICE float apply(const UnaryArgs& p, float x) {
  const float a = (float)p.numbers[0], b = (float)p.numbers[1];
  switch ((u32)p.op) {
    case kAbs:
      return __builtin_fabsf(x);
    case kCeil:
      return __builtin_ceilf(x);
    case kClamp:
      return bounded(x, a, b);
    case kCos:
      return cos(x);
    case kElu:
      return x > 0 ? x : expm1(x);
    case kExp:
      return exp(x);
    case kExpm1:
      return expm1(x);
    case kFloor:
      return __builtin_floorf(x);
    case kGelu:
      return gelu(x);
    case kGeluErf:
      return gelu_erf(x);
    case kGeluQuick:
      return gelu_quick(x);
    case kHardsigmoid:
      return bounded(x + 3, 0, 6) / 6;
    case kHardswish:
      return x * (bounded(x + 3, 0, 6) / 6);
    case kLeakyRelu:
      return x > 0 ? x : a * x;
    case kLog:
      return log(x);
    case kNeg:
      return -x;
    case kRelu:
      return x < 0 ? 0 : x;
    case kRound:
      return __builtin_roundf(x);
    case kScale:
      return __builtin_fmaf(x, a, b);
    case kSgn:
      return (float)(x > 0) - (float)(x < 0);
    case kSigmoid:
      return sigmoid(x);
    case kSilu:
      return silu(x);
    case kSin:
      return sin(x);
    case kSoftplus:
      return softplus(x);
    case kSqr:
      return x * x;
    case kSqrt:
      return sqrt(x);
    case kStep:
      return x > 0 ? 1 : 0;
    case kTanh:
      return tanh(x);
    case kTrunc:
      return __builtin_truncf(x);
    default:
      return xielu(x, p.numbers[0], p.numbers[1], p.numbers[2], p.numbers[3]);
  }
}

template <class T>
DEVICE void compute(const UnaryArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    store<T>(row_at(y, at), i, y.stride[0], apply(p, load<T>(row_at(x, at), i, x.stride[0])));
  });
}

}  // namespace

#define UNARY(T)                       \
  KERNEL void unary_##T(UnaryArgs p) { \
    compute<T>(p);                     \
  }
FOR_SINGLE_TYPES(UNARY)
