// Normalisations along dimension 0, or over groups of channels.
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

struct NormParams {
  float eps = 1e-5F;  ///< added to the variance; not negative, finite
  template <class F>
  void each(F f) const {
    f("eps", eps);
  }
};

const Op& norm_op();
/// y = (x - mean) / sqrt(variance + eps) along dimension 0, where the variance is the mean of (x -
/// mean)^2; zeros if all elements are the same. x: F32, any shape; the result has x's shape.
Result<Value> norm(GraphBuilder& g, Operand x, NormParams params = {});

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
/// The same over all elements of C / groups neighbouring channels of an image. x: F32 [W, H, C, N],
/// W, H and C fixed, `groups` divides C; the result has x's shape.
Result<Value> group_norm(GraphBuilder& g, Operand x, GroupNormParams params);

}  // namespace shunt
