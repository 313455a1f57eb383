// How far the values of two tensors are apart.
#pragma once

#include <cstddef>

#include "shunt/tensor.h"

namespace shunt {

/// The result of compare().
struct Difference {
  double error = 0;     ///< see NodeCheck::error in verify.h
  Sizes at = {};        ///< the element that is furthest off; the first where none is
  double got = 0;       ///< its value
  double expected = 0;  ///< the expected value
};

/// Compares `got` with `expected`: two tensors of this type and these strides, at their sizes in a
/// run. If they are memory that was written into, `before` is its content from before: elements
/// that did not change must not change, but make no error smaller.
Difference compare(const Tensor& tensor, const Sizes& sizes, const std::byte* got,
                   const std::byte* expected, const std::byte* before = nullptr);

}  // namespace shunt
