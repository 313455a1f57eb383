// Shared parts of ops with two operands. The second is repeated along the dimensions that it
// divides.
#pragma once

#include "graph/op.h"
#include "ops/common/loops.h"

namespace shunt {

/// `a`: F32, F16 or BF16; b, whose sizes divide a's: one of them, too. The result is like a.
Result<Inferred> infer_broadcast(SourceTensors sources);

/// result = f(a, b) element by element.
template <class F>
void reference_broadcast(RefSources sources, RefTensor& result, F f) {
  const RefTensor& a = *sources[0];
  const RefTensor& b = *sources[1];
  for_each_element(result.sizes, [&](const Sizes& i) {
    Sizes j = i;
    for (std::size_t d = 0; d < kMaxDims; ++d) j[d] %= b.sizes[d];
    at(result, i) = f(at(a, i), at(b, j));
  });
}

}  // namespace shunt
