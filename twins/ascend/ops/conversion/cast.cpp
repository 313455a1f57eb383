// Elements of one type become elements of another.
#include <cmath>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"
#include "ascend/profiles.h"

namespace ascend_twin {
namespace {

namespace cast {
enum { kSelf, kType, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_shape(call, kOut, call.view(kSelf).shape));
  if (call.view(kOut).type != call.integer(kType)) {
    return invalid_argument(call, kOut,
                            "not of type number " + std::to_string(call.integer(kType)));
  }
  return ACL_SUCCESS;
}

/// Beyond these a 310P promises no value (facts 4.2): strict mode objects, else the exact one
/// comes.
Status check_range(const Kernel& kernel) {
  const Operand& self = kernel.operand(kSelf);
  const aclDataType to = kernel.call.view(kOut).type;
  double least = 0;
  double limit = 0;
  if (self.view.type == ACL_FLOAT && (to == ACL_INT64 || to == ACL_UINT8)) {
    least = -0x1p31;
    limit = 0x1p31;
  } else if (self.view.type == ACL_INT32 && to == ACL_INT8) {
    least = -2047;
    limit = 1920;
  } else {
    return ACL_SUCCESS;
  }
  for (const double value : read(self)) {
    if (!std::isnan(value) && (value < least || value >= limit)) {
      return object_late(ACL_ERROR_RT_AICORE_EXCEPTION,
                         kernel.call.describe(kSelf) + " has " + std::to_string(value) +
                             ", which a 310P does not convert exactly");
    }
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  if (is_strict() && profile()->chip == k310p) ASCEND_TWIN_TRY(check_range(kernel));
  copy_elements(kernel.operand(kSelf), kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Cast", .roles = "ino", .check = check, .run = run};
}  // namespace cast

namespace inplace_copy {
enum { kTarget, kSource };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  Shape shape;
  if (!broadcast_shapes(call.view(kTarget).shape, call.view(kSource).shape, &shape) ||
      shape != call.view(kTarget).shape) {
    return invalid_argument(call, kSource,
                            "which does not broadcast to " + text_of(call.view(kTarget).shape));
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  const Operand& target = kernel.operand(kTarget);
  const Operand& source = kernel.operand(kSource);
  copy_elements(viewed(source, broadcast(source.view, target.view.shape)), target);
  return ACL_SUCCESS;
}

constexpr Op kOp{
    .name = "InplaceCopy", .roles = "oi", .check = check, .run = run, .typed_by = kSource};
}  // namespace inplace_copy

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Cast, ascend_twin::cast::kOp, (self, dtype, out), const aclTensor* self,
          const aclDataType dtype, aclTensor* out)
ASCEND_OP(InplaceCopy, ascend_twin::inplace_copy::kOp, (selfRef, src), aclTensor* selfRef,
          const aclTensor* src)
