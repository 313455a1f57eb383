// Gated units, an element a thread.
#include "backends/cuda/gpu/activations.h"
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/gated.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE float least(float a, float b) {
  return a > b ? b : a;  // not-a-number stays
}

DEVICE float gated(const GatedArgs& p, float gate, float up) {
  switch ((u32)p.op) {
    case kGeglu:
      return gelu(gate) * up;
    case kGegluErf:
      return gelu_erf(gate) * up;
    case kGegluQuick:
      return gelu_quick(gate) * up;
    case kReglu:
      return (gate < 0 ? 0 : gate) * up;
    case kSwiglu:
      return silu(gate) * up;
    default: {
      const float c = least(gate, p.limit), high = p.alpha * c;
      const float u = -least(-least(up, p.limit), p.limit);
      return times_sigmoid(c, high, __builtin_fmaf(p.alpha, c, -high)) * (u + 1);
    }
  }
}

template <class Gate, class Up>
DEVICE void compute(const GatedArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor gates = tensor_of(p.gate, run), ups = tensor_of(p.up, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    float gate = load<Gate>(row_at(gates, at), i, gates.stride[0]);
    float up = ups.data != nullptr ? load<Up>(row_at(ups, at), i, ups.stride[0])
                                   : load<Gate>(row_at(gates, at), i + y.n[0], gates.stride[0]);
    if (p.swapped != 0) {
      const float other = gate;
      gate = up;
      up = other;
    }
    store<Gate>(row_at(y, at), i, y.stride[0], gated(p, gate, up));
  });
}

}  // namespace

#define GATED(GATE, UP)                          \
  KERNEL void gated_##GATE##_##UP(GatedArgs p) { \
    compute<GATE, UP>(p);                        \
  }
FOR_SINGLE_PAIRS(GATED)
