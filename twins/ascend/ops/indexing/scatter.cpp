// Rows written where indices say; the others stay.
#include <set>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/indexing/indices.h"

namespace ascend_twin {
namespace {

namespace index_copy {
enum { kSelf, kDimension, kIndex, kSource };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_indices(call, kIndex));
  ASCEND_TWIN_TRY(need_rank(call, kIndex, 0, 1));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kSource));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  Shape rows = call.view(kSelf).shape;
  const std::int64_t indices = call.view(kIndex).elements();
  if (rows.empty() && indices != 1)
    return invalid_argument(call, kIndex, "not one index for one number");
  if (!rows.empty()) rows[axis] = indices;
  return need_shape(call, kSource, rows);
}

/// The hardware's order of equal indices is open; here the last one stays.
Status check_duplicates(const Kernel& kernel, const std::vector<std::int64_t>& indices) {
  std::set<std::int64_t> seen;
  for (const std::int64_t index : indices) {
    if (seen.insert(index).second) continue;
    return object_late(
        ACL_ERROR_RT_AICORE_EXCEPTION,
        kernel.call.describe(kIndex) + " has the index " + std::to_string(index) + " twice");
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  Operand self = kernel.operand(kSelf);
  Operand source = kernel.operand(kSource);
  self.view = at_least_one_dimension(self.view);
  source.view = at_least_one_dimension(source.view);
  const std::int64_t dimension = kernel.call.integer(kDimension);
  const auto axis = static_cast<std::size_t>(
      dimension < 0 ? dimension + static_cast<std::int64_t>(self.view.rank()) : dimension);
  std::vector<std::int64_t> indices;
  ASCEND_TWIN_TRY(read_indices(kernel, kIndex, self.view.shape[axis], &indices));
  if (is_strict()) ASCEND_TWIN_TRY(check_duplicates(kernel, indices));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    copy_elements(viewed(source, narrowed(source.view, axis, static_cast<std::int64_t>(i), 1)),
                  viewed(self, narrowed(self.view, axis, indices[i], 1)));
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "InplaceIndexCopy", .roles = "onii", .check = check, .run = run};
}  // namespace index_copy

namespace index_fill {
enum { kSelf, kDimension, kIndex, kValue };

/// These indices are on the host: their bounds are checked in phase 1.
Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  const std::int64_t limit = at_least_one_dimension(call.view(kSelf)).shape[axis];
  for (const std::int64_t index : call.integers(kIndex)) {
    if (index < -limit || index >= limit)
      return invalid_argument(call, kSelf, "without index " + std::to_string(index));
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  Operand self = kernel.operand(kSelf);
  self.view = at_least_one_dimension(self.view);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kSelf, kernel.call.integer(kDimension), &axis));
  for (const std::int64_t index : kernel.call.integers(kIndex)) {
    const std::int64_t row = index < 0 ? index + self.view.shape[axis] : index;
    fill_elements(viewed(self, narrowed(self.view, axis, row, 1)),
                  filling_of(kernel.call.at(kValue)));
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "InplaceIndexFillTensor", .roles = "onas", .check = check, .run = run};
}  // namespace index_fill

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(InplaceIndexCopy, ascend_twin::index_copy::kOp, (selfRef, dim, index, source),
          aclTensor* selfRef, int64_t dim, const aclTensor* index, const aclTensor* source)
ASCEND_OP(InplaceIndexFillTensor, ascend_twin::index_fill::kOp, (selfRef, dim, index, value),
          aclTensor* selfRef, int64_t dim, const aclIntArray* index, const aclScalar* value)
