// Rows chosen by indices.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/indexing/indices.h"

namespace ascend_twin {
namespace {

namespace gather {
enum { kSelf, kDimension, kIndex, kOut };

/// The shape with its dimension replaced by those of the indices.
Shape chosen(const Shape& shape, std::size_t axis, const Shape& indices) {
  Shape result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  return result;
}

Status check_types(const Call& call, std::size_t index, std::size_t out) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_indices(call, index));
  return need_same_type(call, kSelf, out);
}

Status check_v2(Call& call) {
  ASCEND_TWIN_TRY(check_types(call, kIndex, kOut));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  const View self = at_least_one_dimension(call.view(kSelf));
  return need_shape(call, kOut, chosen(self.shape, axis, call.view(kIndex).shape));
}

/// The indices have one dimension or none; a tensor without dimensions stays one, of one index.
Status check_select(Call& call) {
  ASCEND_TWIN_TRY(check_types(call, kIndex, kOut));
  ASCEND_TWIN_TRY(need_rank(call, kIndex, 0, 1));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  const Shape& shape = call.view(kSelf).shape;
  if (shape.empty()) {
    if (call.view(kIndex).elements() != 1)
      return invalid_argument(call, kIndex, "not one index for one number");
    return need_shape(call, kOut, shape);
  }
  return need_shape(call, kOut, chosen(shape, axis, {call.view(kIndex).elements()}));
}

Status pick_rows(Kernel& kernel, std::size_t index, std::size_t out, std::int64_t dimension) {
  Operand self = kernel.operand(kSelf);
  self.view = at_least_one_dimension(self.view);
  const auto axis = static_cast<std::size_t>(
      dimension < 0 ? dimension + static_cast<std::int64_t>(self.view.rank()) : dimension);
  const Split split = split_at(self.view.shape, axis);
  std::vector<std::int64_t> indices;
  ASCEND_TWIN_TRY(read_indices(kernel, index, split.size, &indices));
  std::vector<std::int64_t> sources;
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (const std::int64_t row : indices) {
      for (std::int64_t inner = 0; inner < split.inner; ++inner)
        sources.push_back((outer * split.size + row) * split.inner + inner);
    }
  }
  ASCEND_TWIN_TRY(expect_written(self, sources, kernel.call.describe(kSelf)));
  pick_elements(self, sources, kernel.operand(out));
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  return pick_rows(kernel, kIndex, kOut, kernel.call.integer(kDimension));
}

constexpr Op kV2{.name = "GatherV2", .roles = "pnio", .check = check_v2, .run = run};
constexpr Op kSelect{.name = "IndexSelect", .roles = "pnio", .check = check_select, .run = run};

/// An index for each element of the result.
Status check_elements(Call& call) {
  ASCEND_TWIN_TRY(check_types(call, kIndex, kOut));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  const Shape& self = call.view(kSelf).shape;
  const Shape& index = call.view(kIndex).shape;
  if (index.size() != self.size())
    return invalid_argument(call, kIndex, "not of the dimensions of " + text_of(self));
  for (std::size_t i = 0; i < self.size(); ++i) {
    if (i != axis && index[i] > self[i])
      return invalid_argument(call, kIndex, "beyond " + text_of(self));
  }
  return need_shape(call, kOut, index);
}

Status run_elements(Kernel& kernel) {
  Operand self = kernel.operand(kSelf);
  self.view = at_least_one_dimension(self.view);
  const View result = at_least_one_dimension(kernel.operand(kOut).view);
  const std::int64_t dimension = kernel.call.integer(kDimension);
  const auto axis = static_cast<std::size_t>(
      dimension < 0 ? dimension + static_cast<std::int64_t>(self.view.rank()) : dimension);
  std::vector<std::int64_t> indices;
  ASCEND_TWIN_TRY(read_indices(kernel, kIndex, self.view.shape[axis], &indices));
  std::size_t next = 0;
  const std::vector<std::int64_t> sources = sources_of(result.shape, [&](const Shape& place) {
    Shape from = place;
    from[axis] = indices[next++];
    return number_of(self.view.shape, from);
  });
  ASCEND_TWIN_TRY(expect_written(self, sources, kernel.call.describe(kSelf)));
  pick_elements(self, sources, kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kElements{
    .name = "Gather", .roles = "pnio", .check = check_elements, .run = run_elements};
}  // namespace gather

namespace embedding {
enum { kWeight, kIndices, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kWeight, 2, 2));
  ASCEND_TWIN_TRY(gather::check_types(call, kIndices, kOut));
  return need_shape(call, kOut,
                    gather::chosen(call.view(kWeight).shape, 0, call.view(kIndices).shape));
}

Status run(Kernel& kernel) {
  return gather::pick_rows(kernel, kIndices, kOut, 0);
}

constexpr Op kOp{.name = "Embedding", .roles = "pio", .check = check, .run = run};
}  // namespace embedding

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(GatherV2, ascend_twin::gather::kV2, (self, dim, index, out), const aclTensor* self,
          int64_t dim, const aclTensor* index, aclTensor* out)
ASCEND_OP(IndexSelect, ascend_twin::gather::kSelect, (self, dim, index, out), const aclTensor* self,
          int64_t dim, const aclTensor* index, aclTensor* out)
ASCEND_OP(Gather, ascend_twin::gather::kElements, (self, dim, index, out), const aclTensor* self,
          const int64_t dim, const aclTensor* index, aclTensor* out)
ASCEND_OP(Embedding, ascend_twin::embedding::kOp, (weight, indices, out), const aclTensor* weight,
          const aclTensor* indices, aclTensor* out)
