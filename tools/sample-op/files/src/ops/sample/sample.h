// The sample of docs/internals/adding-an-op.md.
#pragma once

#include "shunt/graph.h"

namespace shunt {

struct CubeParams {
  float factor = 1;  ///< finite
  template <class F>
  void each(F f) const {
    f("factor", factor);
  }
};

const Op& cube_op();
/// y = factor * x^3. x: F32, any shape; the result has x's shape.
Result<Value> cube(GraphBuilder& g, Operand x, CubeParams params = {});

}  // namespace shunt
