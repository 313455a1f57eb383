#include "ascend/ops/products/shapes.h"

#include <algorithm>
#include <utility>

#include "ascend/ops/products/sums.h"
#include "ascend/profiles.h"
#include "ascend/support.h"
#include "ascend/tensors/nz.h"

namespace ascend_twin {
namespace {

/// A batched operand is row-major in its batch dimensions, else 561103 (facts B).
Status check_batches(const Call& call, std::size_t position) {
  const View& view = call.view(position);
  if (view.rank() < 3 || view.is_nz()) return ACL_SUCCESS;
  const std::size_t last = view.rank() - 3;  // of the batches
  std::int64_t inner = 0;                    // the greatest stride inside
  for (std::size_t i = last + 1; i < view.rank(); ++i) {
    if (view.shape[i] != 1) inner = std::max(inner, view.strides[i]);
  }
  for (std::size_t i = last + 1; i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (view.strides[i] < inner)
      return refuse(ACLNN_ERR_INNER_NULLPTR, call.describe(position) + ", batches out of order");
    inner = view.strides[i];
  }
  return ACL_SUCCESS;
}

/// The second factor with its inner dimension last, [n][k] in each batch.
std::vector<float> read_columns(Operand operand, const ProductShapes& shapes) {
  View& view = operand.view;
  if (view.rank() < 2) return read_floats(operand);
  if (view.is_nz()) return transposed(read_floats(operand), shapes.k, shapes.n);
  std::swap(view.shape[view.rank() - 1], view.shape[view.rank() - 2]);
  std::swap(view.strides[view.rank() - 1], view.strides[view.rank() - 2]);
  return read_floats(operand);
}

/// Number of the operand's matrix that belongs to each of the result's.
View matrix_numbers(const View& view, const Shape& batch) {
  const Shape own = view.rank() < 3 ? Shape{} : Shape(view.shape.begin(), view.shape.end() - 2);
  return broadcast(dense_view(ACL_INT8, own, nullptr), batch);
}

}  // namespace

Status product_shapes(const Call& call, std::size_t a, std::size_t b, ProductShapes* shapes) {
  Shape left = call.view(a).shape;
  Shape right = call.view(b).shape;
  const bool row = left.size() == 1;
  const bool column = right.size() == 1;
  if (row) left.insert(left.begin(), 1);
  if (column) right.push_back(1);
  shapes->m = left[left.size() - 2];
  shapes->k = left.back();
  shapes->n = right.back();
  if (right[right.size() - 2] != shapes->k) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(b) + ", not a factor of " + text_of(call.view(a).shape));
  }
  if (!broadcast_shapes(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2),
                        &shapes->batch))
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(b) + ", batches that do not fit");
  shapes->out = shapes->batch;
  if (!row) shapes->out.push_back(shapes->m);
  if (!column) shapes->out.push_back(shapes->n);
  return ACL_SUCCESS;
}

Status check_product(const Call& call, std::size_t a, std::size_t b, std::size_t out) {
  ASCEND_TWIN_TRY(need_rank(call, a, 1, 6));
  ASCEND_TWIN_TRY(need_rank(call, b, 1, 6));
  ASCEND_TWIN_TRY(need_nd(call, a));
  ASCEND_TWIN_TRY(need_nd(call, out));
  if (call.view(b).is_nz()) ASCEND_TWIN_TRY(need_nz(call, b));
  ProductShapes shapes;
  ASCEND_TWIN_TRY(product_shapes(call, a, b, &shapes));
  ASCEND_TWIN_TRY(need_shape(call, out, shapes.out));
  ASCEND_TWIN_TRY(check_batches(call, a));
  ASCEND_TWIN_TRY(check_batches(call, b));
  return need_type(call, out, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16});
}

Status need_nd(const Call& call, std::size_t position) {
  if (!call.view(position).is_nz()) return ACL_SUCCESS;
  return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + " in NZ");
}

Status need_nz(const Call& call, std::size_t position) {
  const View& view = call.view(position);
  if (!view.is_nz() || view.rank() < 2)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", not matrices in NZ");
  const std::string fault = nz_fault(view);
  if (fault.empty()) return ACL_SUCCESS;
  return object(ACLNN_ERR_PARAM_INVALID, call.describe(position) + fault);
}

Status need_matrix_order(const Call& call, std::size_t position) {
  const View& view = call.view(position);
  if (view.is_contiguous() || view.is_transposed()) return ACL_SUCCESS;
  return refuse(ACLNN_ERR_PARAM_INVALID,
                call.describe(position) + ", neither contiguous nor transposed");
}

std::uint64_t product_workspace(const ProductShapes& shapes) {
  const bool is_a2 = profile()->chip == k910b;
  const auto fixed = static_cast<std::uint64_t>(
      unknown(is_a2 ? "matmul fixed workspace" : "matmul fixed workspace 310"));
  const std::int64_t parts = shapes.m <= 16 ? 8 : shapes.m <= 64 ? 4 : shapes.m <= 128 ? 2 : 0;
  const std::int64_t columns = (shapes.n + 15) / 16 * 16;
  return fixed + static_cast<std::uint64_t>(parts * 16 * columns * 4);
}

std::vector<float> product_of(const Operand& a, const Operand& b, const ProductShapes& shapes,
                              CubeNumbers numbers) {
  std::vector<float> left = read_floats(a);
  std::vector<float> right = read_columns(b, shapes);
  round_for_cube(numbers, a.saturates, left);
  round_for_cube(numbers, b.saturates, right);
  const View lefts = matrix_numbers(a.view, shapes.batch);
  const View rights = matrix_numbers(b.view, shapes.batch);
  const std::int64_t batches = elements_of(shapes.batch);
  const std::int64_t each = shapes.m * shapes.n;
  std::vector<float> result(static_cast<std::size_t>(batches * each));
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    multiply(left.data() + lefts.place_of(batch) * shapes.m * shapes.k,
             right.data() + rights.place_of(batch) * shapes.n * shapes.k, shapes.m, shapes.n,
             shapes.k, result.data() + batch * each);
  }
  return result;
}

}  // namespace ascend_twin
