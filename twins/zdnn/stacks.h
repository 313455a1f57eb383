// The shapes of a matrix multiplication and which function of the machine does it, from the numbers
// of stacks (dim4).
#pragma once

#include "op.h"

namespace zdnn_twin {

struct Stacks {
  nnpa_function_code function;
  std::uint32_t count;      // of the result
  bool shared_a, shared_b;  // one for all stacks
  bool shared_c() const { return function == NNPA_MATMUL_OP_BCAST23; }

  std::uint64_t of_a(std::uint64_t stack) const { return shared_a ? 0 : stack; }
  std::uint64_t of_b(std::uint64_t stack) const { return shared_b ? 0 : stack; }
  std::uint64_t of_c(std::uint64_t stack) const { return shared_c() ? 0 : stack; }
};

/// By dim4: a shared is BCAST1, b (and c) shared BCAST23, equal numbers MATMUL_OP.
inline Stacks stacks_of(const zdnn_ztensor* a, const zdnn_ztensor* b) {
  const std::uint32_t of_a = a == nullptr || a->transformed_desc == nullptr ? 1 : desc_of(a).dim4;
  const std::uint32_t of_b = b == nullptr || b->transformed_desc == nullptr ? 1 : desc_of(b).dim4;
  if (of_a == 1 && of_b != 1) return {NNPA_MATMUL_OP_BCAST1, of_b, true, false};
  if (of_b == 1 && of_a != 1) return {NNPA_MATMUL_OP_BCAST23, of_a, false, true};
  return {NNPA_MATMUL_OP, of_a, false, false};
}

/// a (m, n) times b (n, p).
struct Sizes {
  std::uint32_t m, n, p;
};

/// a (stacks, 1, m, n), b (stacks, 1, n, p), c (stacks, 1, 1, p), out (stacks, 1, m, p); a or b
/// transposed if said so.
inline zdnn_status expect_matrices(const Stacks& stacks, const zdnn_ztensor* a,
                                   const zdnn_ztensor* b, const zdnn_ztensor* c,
                                   const zdnn_ztensor* out, bool transpose_a, bool transpose_b,
                                   Sizes& sizes) {
  const zdnn_tensor_desc& left = desc_of(a);
  const zdnn_tensor_desc& right = desc_of(b);
  sizes.m = transpose_a ? left.dim1 : left.dim2;
  sizes.n = transpose_a ? left.dim2 : left.dim1;
  sizes.p = transpose_b ? right.dim2 : right.dim1;
  const std::uint32_t n_of_b = transpose_b ? right.dim1 : right.dim2;
  const bool fits = left.dim3 == 1 && right.dim3 == 1 && n_of_b == sizes.n &&
                    left.dim4 == (stacks.shared_a ? 1 : stacks.count) &&
                    right.dim4 == (stacks.shared_b ? 1 : stacks.count) &&
                    has_dims(c, stacks.shared_c() ? 1 : stacks.count, 1, 1, sizes.p) &&
                    has_dims(out, stacks.count, 1, sizes.m, sizes.p);
  return expect(fits, ZDNN_INVALID_SHAPE, "the matrices don't fit each other");
}

/// 1 or 0: whether the comparison holds. NaN if there is one in it.
double compared(zdnn_matmul_ops op, double dot, double with);

}  // namespace zdnn_twin
