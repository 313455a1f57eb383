// The place of the greatest element along a dimension: the first of several; NaN is the greatest.
#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"

namespace ascend_twin {
namespace {

namespace arg_max {
enum { kSelf, kDim, kKeep, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(call, kSelf, call.integer(kDim), &axes));
  const Shape& shape = call.view(kSelf).shape;
  ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_INT32, ACL_INT64}));
  ASCEND_TWIN_TRY(need_shape(call, kOut, reduced_shape(shape, axes, call.integer(kKeep) != 0)));
  if (length_of(shape, axes) == 0)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kSelf) + ", without elements to compare");
  return ACL_SUCCESS;
}

template <class Value>
std::int64_t place_of_greatest(std::span<const Value> row) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != row[i]) return static_cast<std::int64_t>(i);  // NOLINT: NaN
    if (row[i] > row[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

template <class Value>
void find_all(std::vector<Value> values, std::int64_t length, const Operand& out) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(out.view.elements()));
  for_each_row(values, length, [&](std::size_t row, std::span<const Value> of) {
    places[row] = place_of_greatest(of);
  });
  write_integers(out, places);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(call, kSelf, call.integer(kDim), &axes));
  const std::int64_t length = length_of(call.view(kSelf).shape, axes);
  const Operand rows = rows_of(kernel.operand(kSelf), axes);
  if (is_float(rows.view.type)) {
    find_all(read(rows), length, kernel.operand(kOut));
  } else {
    find_all(read_integers(rows), length, kernel.operand(kOut));
  }
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  return reduction_workspace(call.view(kOut).elements());
}

constexpr Op kOp{
    .name = "ArgMax", .roles = "inno", .check = check, .run = run, .workspace = workspace};
}  // namespace arg_max

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(ArgMax, ascend_twin::arg_max::kOp, (self, dim, keepDim, out), const aclTensor* self,
          int64_t dim, bool keepDim, aclTensor* out)
