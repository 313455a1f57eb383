/// \file
/// Arithmetic element by element. The first operand is F32, F16 or BF16, and the result is of its
/// type; a second one is F32, F16 or BF16, too, whichever the first is. All is computed in F32, and
/// rounded once.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& add_op();
/// y = a + b. Each dimension of b divides that of a, and b is repeated along it: element
/// i of a meets element i mod n of b. A dimension of b that is a dynamic dimension must be the same
/// as that of a. The result has a's shape.
Result<Value> add(GraphBuilder& g, Operand a, Operand b);

// Shapes of sub, mul and div are as for add.

const Op& sub_op();
/// y = a - b.
Result<Value> sub(GraphBuilder& g, Operand a, Operand b);

const Op& mul_op();
/// y = a * b.
Result<Value> mul(GraphBuilder& g, Operand a, Operand b);

const Op& div_op();
/// y = a / b: infinite or not a number where b is 0.
Result<Value> div(GraphBuilder& g, Operand a, Operand b);

const Op& add1_op();
/// y = a + s. `a`: any shape; `s`: a single number, [1].
Result<Value> add1(GraphBuilder& g, Operand a, Operand s);

const Op& add_id_op();
/// y[:, u, t] = x[:, u, t] + b[:, ids[u, t]]: the bias of each token's experts. `x`: [C, U, T];
/// `b`: [C, N]; `ids`: I32 or I64 [U, T]. A run with a number that b has no row for fails. The
/// result has x's shape.
Result<Value> add_id(GraphBuilder& g, Operand x, Operand b, Operand ids);

/// Parameters of scale().
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
/// y = x * scale + bias. `x`: any shape; the result has x's shape. scale and bias must be
/// finite.
Result<Value> scale(GraphBuilder& g, Operand x, ScaleParams params);

}  // namespace shunt
