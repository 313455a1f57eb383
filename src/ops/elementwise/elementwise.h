// Arithmetic element by element.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& add_op();
/// y = a + b. a, b: F32. Each dimension of b divides that of a, and b is repeated along it: element
/// i of a meets element i mod n of b. A dimension of b that is an extent must be the same as that
/// of a. The result has a's shape.
Result<Value> add(GraphBuilder& g, Operand a, Operand b);

// Types and shapes of the others are as for add.

const Op& sub_op();
/// y = a - b.
Result<Value> sub(GraphBuilder& g, Operand a, Operand b);

const Op& mul_op();
/// y = a * b.
Result<Value> mul(GraphBuilder& g, Operand a, Operand b);

const Op& div_op();
/// y = a / b: infinite or not a number where b is 0.
Result<Value> div(GraphBuilder& g, Operand a, Operand b);

struct ScaleParams {
  float scale = 1;
  float bias = 0;
  template <class F>
  void each(F f) const {
    f("scale", scale);
    f("bias", bias);
  }
};

const Op& scale_op();
/// y = x * scale + bias. x: F32, any shape; the result has x's shape. scale and bias must be
/// finite.
Result<Value> scale(GraphBuilder& g, Operand x, ScaleParams params);

}  // namespace shunt
