// Another view of the same elements, copied to a new tensor.
#include <algorithm>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace permute {
enum { kSelf, kDimensions, kOut };

Status permuted(const Call& call, View* view) {
  const View& self = call.view(kSelf);
  if (call.integers(kDimensions).size() != self.rank()) {
    return invalid_argument(
        call, kSelf, "for " + std::to_string(call.integers(kDimensions).size()) + " dimensions");
  }
  std::vector<bool> used(self.rank());
  *view = self;
  for (std::size_t i = 0; i < self.rank(); ++i) {
    std::size_t axis = 0;
    ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integers(kDimensions)[i], &axis));
    if (used[axis])
      return invalid_argument(call, kSelf, "with dimension " + std::to_string(axis) + " twice");
    used[axis] = true;
    view->shape[i] = self.shape[axis];
    view->strides[i] = self.strides[axis];
  }
  return ACL_SUCCESS;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  View view;
  ASCEND_TWIN_TRY(permuted(call, &view));
  return need_shape(call, kOut, view.shape);
}

Status run(Kernel& kernel) {
  View view;
  ASCEND_TWIN_TRY(permuted(kernel.call, &view));
  copy_elements(viewed(kernel.operand(kSelf), view), kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Permute", .roles = "iao", .check = check, .run = run};
}  // namespace permute

namespace slice {
enum { kSelf, kDimension, kStart, kEnd, kStep, kOut };

/// Ends beyond the dimension are its ends.
Status sliced(const Call& call, View* view) {
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 1, 8));
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  const View& self = call.view(kSelf);
  const std::int64_t size = self.shape[axis];
  const std::int64_t step = call.integer(kStep);
  if (step <= 0) return invalid_argument(call, kSelf, "for a step of " + std::to_string(step));
  const auto place = [&](std::int64_t value) {
    return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const std::int64_t start = place(call.integer(kStart));
  const std::int64_t end = std::max(start, place(call.integer(kEnd)));
  const std::int64_t count = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  // A step beyond the end would overflow as a stride.
  *view = narrowed(self, axis, start, count, count > 1 ? step : 1);
  return ACL_SUCCESS;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  View view;
  ASCEND_TWIN_TRY(sliced(call, &view));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  return need_shape(call, kOut, view.shape);
}

Status run(Kernel& kernel) {
  View view;
  ASCEND_TWIN_TRY(sliced(kernel.call, &view));
  copy_elements(viewed(kernel.operand(kSelf), view), kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Slice", .roles = "innnno", .check = check, .run = run};
}  // namespace slice

namespace roll {
enum { kSelf, kShifts, kDimensions, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  const std::size_t dimensions = call.integers(kDimensions).size();
  if (call.integers(kShifts).size() != std::max<std::size_t>(dimensions, 1)) {
    return invalid_argument(call, kShifts,
                            "of " + std::to_string(call.integers(kShifts).size()) + " shifts for " +
                                std::to_string(dimensions) + " dimensions");
  }
  for (const std::int64_t dimension : call.integers(kDimensions)) {
    std::size_t axis = 0;
    ASCEND_TWIN_TRY(dimension_of(call, kSelf, dimension, &axis));
  }
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  return need_shape(call, kOut, call.view(kSelf).shape);
}

std::int64_t modulo(std::int64_t value, std::int64_t size) {
  return (value % size + size) % size;
}

/// Without dimensions the tensor is one row.
Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const Operand& out = kernel.operand(kOut);
  const bool is_flat = call.integers(kDimensions).empty() || out.view.rank() == 0;
  const Shape shape = is_flat ? Shape{out.view.elements()} : out.view.shape;
  Shape shifts(shape.size(), 0);
  for (std::size_t i = 0; i < call.integers(kShifts).size(); ++i) {
    std::size_t axis = 0;
    if (!is_flat) ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integers(kDimensions)[i], &axis));
    shifts[axis] =
        modulo(shifts[axis] + modulo(call.integers(kShifts)[i], shape[axis]), shape[axis]);
  }
  const std::vector<std::int64_t> sources = sources_of(shape, [&](Shape place) {
    for (std::size_t i = 0; i < place.size(); ++i)
      place[i] = modulo(place[i] - shifts[i], shape[i]);
    return number_of(shape, place);
  });
  pick_elements(kernel.operand(kSelf), sources, out);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Roll", .roles = "iaao", .check = check, .run = run};
}  // namespace roll

namespace triangle {
enum { kSelf, kDiagonal, kOut };

Status check_self(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  return need_rank(call, kSelf, 2, 8);
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_self(call));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  return need_shape(call, kOut, call.view(kSelf).shape);
}

/// Zeros above the diagonal, or below it.
void keep(const Operand& self, const Operand& out, std::int64_t diagonal, bool lower) {
  const Shape& shape = out.view.shape;
  const std::size_t rank = shape.size();
  pick_elements(self,
                sources_of(shape,
                           [&](const Shape& place) {
                             const std::int64_t off = place[rank - 1] - place[rank - 2];
                             const bool kept = lower ? off <= diagonal : off >= diagonal;
                             return kept ? number_of(shape, place) : kFill;
                           }),
                out);
}

template <bool kLower>
Status run(Kernel& kernel) {
  keep(kernel.operand(kSelf), kernel.operand(kOut), kernel.call.integer(kDiagonal), kLower);
  return ACL_SUCCESS;
}
template <bool kLower>
Status run_inplace(Kernel& kernel) {
  keep(kernel.operand(kSelf), kernel.operand(kSelf), kernel.call.integer(kDiagonal), kLower);
  return ACL_SUCCESS;
}

constexpr Op kTril{.name = "Tril", .roles = "ino", .check = check, .run = run<true>};
constexpr Op kTriu{.name = "Triu", .roles = "ino", .check = check, .run = run<false>};
constexpr Op kInplaceTril{
    .name = "InplaceTril", .roles = "xn", .check = check_self, .run = run_inplace<true>};
constexpr Op kInplaceTriu{
    .name = "InplaceTriu", .roles = "xn", .check = check_self, .run = run_inplace<false>};
}  // namespace triangle

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Permute, ascend_twin::permute::kOp, (self, dims, out), const aclTensor* self,
          const aclIntArray* dims, aclTensor* out)
ASCEND_OP(Slice, ascend_twin::slice::kOp, (self, dim, start, end, step, out), const aclTensor* self,
          int64_t dim, int64_t start, int64_t end, int64_t step, aclTensor* out)
ASCEND_OP(Roll, ascend_twin::roll::kOp, (self, shifts, dims, out), const aclTensor* self,
          const aclIntArray* shifts, const aclIntArray* dims, aclTensor* out)
ASCEND_OP(Tril, ascend_twin::triangle::kTril, (self, diagonal, out), const aclTensor* self,
          int64_t diagonal, aclTensor* out)
ASCEND_OP(Triu, ascend_twin::triangle::kTriu, (self, diagonal, out), const aclTensor* self,
          int64_t diagonal, aclTensor* out)
ASCEND_OP(InplaceTril, ascend_twin::triangle::kInplaceTril, (selfRef, diagonal), aclTensor* selfRef,
          int64_t diagonal)
ASCEND_OP(InplaceTriu, ascend_twin::triangle::kInplaceTriu, (selfRef, diagonal), aclTensor* selfRef,
          int64_t diagonal)
