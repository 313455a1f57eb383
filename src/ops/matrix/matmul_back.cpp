#include "ops/matrix/matmul_back.h"

#include <algorithm>

#include "ops/common/backward.h"
#include "ops/data/data.h"
#include "ops/training/training.h"
#include "ops/view/view.h"

namespace shunt {

// Both are sums of outer products, which take their operands in their layout in memory. For dx they
// go over the rows of w and of dy seen from the side, for dw over the columns of x and dy.
// (Products of transposed copies took a fifth of a training step for the copies.)

namespace {

bool is_fixed(const Shape& shape) {
  return std::ranges::all_of(shape, [](const Dim& dim) { return dim.is_fixed(); });
}

/// [C, N, Y2, Y3] as [C, N * Y2 * Y3].
Result<Value> columns_of_all_slices(GraphBuilder& g, Operand x) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(x));
  const std::int64_t columns = tensor.size(1) * tensor.size(2) * tensor.size(3);
  return reshape(g, packed(g, x), {tensor.shape[0], columns});
}

}  // namespace

Result<Value> matmul_back_by_x(GraphBuilder& g, Operand dy, Operand w, const Shape& x) {
  return sum_slices(g, out_prod(g, w, transpose(g, dy)), x);
}

Result<Value> matmul_back_by_w(GraphBuilder& g, Operand dy, Operand x, const Shape& w) {
  SHUNT_ASSIGN(const Tensor of_dy, g.find(dy));
  SHUNT_ASSIGN(const Tensor of_x, g.find(x));
  const bool same_slices = of_x.shape[2] == of_dy.shape[2] && of_x.shape[3] == of_dy.shape[3];
  const bool one_slice = w[2] == Dim(1) && w[3] == Dim(1);
  const bool sliced = of_dy.shape[2] != Dim(1) || of_dy.shape[3] != Dim(1);
  if (one_slice && sliced && same_slices && is_fixed(of_dy.shape) && is_fixed(of_x.shape)) {
    // Weights that all slices share: one product of more columns, not a sum of products.
    return matmul_back_by_w(g, columns_of_all_slices(g, dy), columns_of_all_slices(g, x), w);
  }
  return sum_slices(g, out_prod(g, x, dy), w);
}

}  // namespace shunt
