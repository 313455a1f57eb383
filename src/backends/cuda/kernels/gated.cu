// Gated units, an element a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/gated.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE float open(u64 op, float gate) {
  switch (op) {
    case kReglu:
      return largest(gate, 0.0f);
    case kGegluQuick:
      return gate / (1 + exp(-1.702f * gate));
    case kSwiglu:
      return gate / (1 + exp(-gate));
    default: {
      const float u = 0.797884561f * (gate + 0.044715f * gate * gate * gate);
      return gate / (1 + exp(-2 * u));
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
    store<Gate>(row_at(y, at), i, y.stride[0], open(p.op, gate) * up);
  });
}

}  // namespace

#define GATED(GATE, UP)                          \
  KERNEL void gated_##GATE##_##UP(GatedArgs p) { \
    compute<GATE, UP>(p);                        \
  }
FOR_SINGLE_PAIRS(GATED)
