// Tensors one after another, and repeated.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace cat {
enum { kTensors, kDimension, kOut };

/// Of the old kind without elements or other dimensions: left out.
bool is_nothing(const View& view) {
  return view.rank() == 1 && view.shape[0] == 0;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kOut, 1, 8));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kOut, call.integer(kDimension), &axis));
  Shape shape = call.view(kOut).shape;
  shape[axis] = 0;
  aclDataType type = call.view(kTensors).type;
  for (const View& member : call.at(kTensors).views) {
    type = promote(type, member.type);
    if (is_nothing(member)) continue;
    Shape rest = member.shape;
    if (rest.size() == shape.size()) rest[axis] = shape[axis];
    if (rest != shape) {
      return invalid_argument(
          call, kTensors,
          "with a member " + text_of(member.shape) + " for " + text_of(call.view(kOut).shape));
    }
    shape[axis] += member.shape[axis];
  }
  if (type == ACL_DT_UNDEFINED) return invalid_argument(call, kTensors, "no common type");
  ASCEND_TWIN_TRY(need_castable(call, type, kOut));
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Operand& out = kernel.operand(kOut);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kOut, kernel.call.integer(kDimension), &axis));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < kernel.call.at(kTensors).views.size(); ++i) {
    const Operand& member = kernel.operand(kTensors, i);
    if (is_nothing(member.view)) continue;
    const std::int64_t size = member.view.shape[axis];
    copy_elements(member, viewed(out, narrowed(out.view, axis, start, size)));
    start += size;
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Cat", .roles = "lno", .check = check, .run = run};
}  // namespace cat

namespace repeat {
enum { kSelf, kRepeats, kOut };

/// With ones in front for as many dimensions as the repeats have.
View lengthened(View view, std::size_t rank) {
  while (view.rank() < rank) {
    view.shape.insert(view.shape.begin(), 1);
    view.strides.insert(view.strides.begin(), 0);
  }
  return view;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  const std::size_t rank = call.integers(kRepeats).size();
  if (rank < call.view(kSelf).rank() || rank > 8)
    return invalid_argument(call, kSelf, "for " + std::to_string(rank) + " repeats");
  ASCEND_TWIN_TRY(need_integers(call, kRepeats, rank, 0));
  Shape shape = lengthened(call.view(kSelf), rank).shape;
  for (std::size_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(shape[i], call.integers(kRepeats)[i], &shape[i]))
      return invalid_argument(call, kSelf, "repeated too often");
  }
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Operand& out = kernel.operand(kOut);
  Operand self = kernel.operand(kSelf);
  self.view = lengthened(self.view, kernel.call.integers(kRepeats).size());
  const Shape& shape = self.view.shape;
  pick_elements(self,
                sources_of(out.view.shape,
                           [&](Shape place) {
                             for (std::size_t i = 0; i < place.size(); ++i) place[i] %= shape[i];
                             return number_of(shape, place);
                           }),
                out);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Repeat", .roles = "iao", .check = check, .run = run};
}  // namespace repeat

namespace interleave {
enum { kSelf, kRepeats, kDimension, kSize, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  Shape shape = at_least_one_dimension(call.view(kSelf)).shape;
  const std::int64_t repeats = call.integer(kRepeats);
  if (repeats < 0 || repeats > INT32_MAX)
    return invalid_argument(call, kSelf, "for " + std::to_string(repeats) + " repeats");
  if (__builtin_mul_overflow(shape[axis], repeats, &shape[axis]))
    return invalid_argument(call, kSelf, "repeated too often");
  if (call.integer(kSize) != shape[axis]) {
    return invalid_argument(call, kSelf, "for a size of " + std::to_string(call.integer(kSize)));
  }
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Operand& out = kernel.operand(kOut);
  Operand self = kernel.operand(kSelf);
  self.view = at_least_one_dimension(self.view);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kSelf, kernel.call.integer(kDimension), &axis));
  pick_elements(self,
                sources_of(out.view.shape,
                           [&](Shape place) {
                             place[axis] /= kernel.call.integer(kRepeats);
                             return number_of(self.view.shape, place);
                           }),
                out);
  return ACL_SUCCESS;
}

constexpr Op kOp{
    .name = "RepeatInterleaveIntWithDim", .roles = "innno", .check = check, .run = run};
}  // namespace interleave

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Cat, ascend_twin::cat::kOp, (tensors, dim, out), const aclTensorList* tensors,
          int64_t dim, aclTensor* out)
ASCEND_OP(Repeat, ascend_twin::repeat::kOp, (self, repeats, out), const aclTensor* self,
          const aclIntArray* repeats, aclTensor* out)
ASCEND_OP(RepeatInterleaveIntWithDim, ascend_twin::interleave::kOp,
          (self, repeats, dim, outputSize, out), const aclTensor* self, int64_t repeats,
          int64_t dim, int64_t outputSize, aclTensor* out)
