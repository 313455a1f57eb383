// Normalisations along dimension 0.
#pragma once

#include "shunt/graph.h"

namespace shunt {

struct RmsNormParams {
  float eps = 1e-5F;  ///< added to the mean square; not negative, finite
  template <class F>
  void each(F f) const {
    f("eps", eps);
  }
};

const Op& rms_norm_op();
/// y = x / sqrt(mean(x^2) + eps) along dimension 0. x: F32, any shape; the result has x's shape.
Result<Value> rms_norm(GraphBuilder& g, Operand x, RmsNormParams params = {});

}  // namespace shunt
