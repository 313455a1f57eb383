// What several kernels make of the machine's operations.
#pragma once

#include "backends/zdnn/kernel.h"

namespace shunt::zdnn {

/// y = x * sigmoid(x). Takes temporary 0.
inline bool silu(Launch& l, const Stick& x, Stick& y) {
  Stick& s = l.temporary(0, x.dims());
  return l.unary("zdnn_sigmoid", l.zdnn().sigmoid, x, s) && l.mul(x, s, y);
}

/// y = x * sigmoid(2 c (x + 0.044715 x^3)), c = sqrt(2 / pi): gelu by its approximation with tanh,
/// as (1 + tanh u) / 2 is sigmoid(2 u). Takes temporaries 0 and 1. (The machine's own gelu, of z17,
/// is off by more than 1% for some numbers, says its documentation.)
inline bool gelu(Launch& l, const Stick& x, Stick& y) {
  constexpr float kTwice = 1.5957691216057308F;
  Stick& a = l.temporary(0, x.dims());
  Stick& b = l.temporary(1, x.dims());
  if (!l.mul(x, x, a) || !l.affine(a, 0.044715F * kTwice, kTwice, b)) return false;
  Stick& u = l.temporary(0, x.dims());
  if (!l.mul(x, b, u)) return false;
  Stick& s = l.temporary(1, x.dims());
  return l.unary("zdnn_sigmoid", l.zdnn().sigmoid, u, s) && l.mul(x, s, y);
}

}  // namespace shunt::zdnn
