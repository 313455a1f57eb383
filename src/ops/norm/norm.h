/// \file
/// Normalisations along dimension 0, or over groups of channels. `x`: F32, F16 or BF16; the result
/// has its type and shape. Computed in F32, and rounded once.
#pragma once

#include "shunt/graph.h"

namespace shunt {

/// Parameters of rms_norm().
struct RmsNormParams {
  float eps = 1e-5F;  ///< added to the mean square; not negative, finite
  template <class F>
  void each(F f) const {
    f("eps", eps);
  }
};

const Op& rms_norm_op();
/// y = x / sqrt(mean(x^2) + eps) along dimension 0. `x`: any shape.
Result<Value> rms_norm(GraphBuilder& g, Operand x, RmsNormParams params = {});

/// Parameters of l2_norm().
struct L2NormParams {
  float eps = 1e-12F;  ///< the least divisor of a row; not negative, finite
  template <class F>
  void each(F f) const {
    f("eps", eps);
  }
};

const Op& l2_norm_op();
/// y = x / max(sqrt(sum x^2), eps) along dimension 0; zeros for zeros. `x`: any shape.
Result<Value> l2_norm(GraphBuilder& g, Operand x, L2NormParams params = {});

/// Parameters of norm().
struct NormParams {
  float eps = 1e-5F;  ///< added to the variance; not negative, finite
  template <class F>
  void each(F f) const {
    f("eps", eps);
  }
};

const Op& norm_op();
/// y = (x - mean) / sqrt(variance + eps) along dimension 0, where the variance is the mean of (x -
/// mean)^2; zeros if all elements are the same. `x`: any shape.
Result<Value> norm(GraphBuilder& g, Operand x, NormParams params = {});

/// Parameters of group_norm().
struct GroupNormParams {
  std::int64_t groups = 1;  ///< at least 1
  float eps = 1e-5F;        ///< added to the variance; not negative, finite
  template <class F>
  void each(F f) const {
    f("groups", groups);
    f("eps", eps);
  }
};

const Op& group_norm_op();
/// The same over all elements of C / groups neighbouring channels of an image. `x`: [W, H, C, N],
/// W, H and C fixed, `groups` divides C.
Result<Value> group_norm(GraphBuilder& g, Operand x, GroupNormParams params);

}  // namespace shunt
