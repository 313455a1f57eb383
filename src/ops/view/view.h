/// \file
/// The same memory seen another way: nothing is computed, and every view sees later writes.
#pragma once

#include <array>

#include "shunt/graph.h"

namespace shunt {

/// Parameters of reshape().
struct ReshapeParams {
  Shape shape;
  template <class F>
  void each(F f) const {
    f("shape", shape);
  }
};

const Op& reshape_op();
/// x's elements in the same order in another shape of as many.
/// `x`: any type. Its strides must allow it without a copy: always if x is contiguous. Otherwise a
/// dimension may be cut, and neighbours may be joined whose strides are those of one dimension. An
/// dynamic dimension of x must be one of the shape's too, with as many elements on its inner side
/// (times its factor). So it covers the same elements for every value: [64, 8, T] can become [512,
/// T] and [64, 8T], but not [T, 512].
Result<Value> reshape(GraphBuilder& g, Operand x, const Shape& shape);

/// Parameters of view().
struct ViewParams {
  Sizes start = {0, 0, 0, 0};
  Shape shape;
  template <class F>
  void each(F f) const {
    f("start", start);
    f("shape", shape);
  }
};

const Op& view_op();
/// A window of x: element i of the result is x[start + i].
/// `x`: any type; of a block type, dimension 0 starts and ends between blocks.
/// `shape` may use dynamic dimensions; the window must be inside of x at their maximum. Beyond the
/// actual size of a dynamic dimension of x, its elements are undefined.
Result<Value> view(GraphBuilder& g, Operand x, const Sizes& start, const Shape& shape);

/// Parameters of permute().
struct PermuteParams {
  std::array<int, kMaxDims> axes = {0, 1, 2, 3};
  template <class F>
  void each(F f) const {
    f("axes", axes);
  }
};

const Op& permute_op();
/// Dimension i of the result is dimension axes[i] of x.
/// `x`: any type; axes[0] must be 0 for block types.
Result<Value> permute(GraphBuilder& g, Operand x, const std::array<int, kMaxDims>& axes);

const Op& transpose_op();
/// Dimensions 0 and 1 change places. `x`: any type but block types.
Result<Value> transpose(GraphBuilder& g, Operand x);

}  // namespace shunt
