// Gated activations: one half of a dimension through a function, times the other half.
#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/activations.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"
#include "ascend/support.h"
#include "common/reals.h"

namespace ascend_twin {
namespace {

namespace gated {

/// The shape of a half of `dim`.
Status half_of(const Call& call, std::int64_t dim, Axes* axes, Shape* shape) {
  ASCEND_TWIN_TRY(axis_of(call, 0, dim, axes));
  *shape = call.view(0).shape;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!(*axes)[i]) continue;
    if ((*shape)[i] % 2 != 0) {
      return refuse(ACLNN_ERR_PARAM_INVALID,
                    call.describe(0) + ", dimension " + std::to_string(i) + " has no halves");
    }
    (*shape)[i] /= 2;
    return ACL_SUCCESS;
  }
  return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(0) + ", without a dimension to halve");
}

std::vector<double> read_half(const Operand& operand, const Axes& axes, bool is_second) {
  Operand half = operand;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) continue;
    half.view.shape[i] /= 2;
    if (is_second) half.view.offset += half.view.shape[i] * half.view.strides[i];
  }
  return read(half);
}

namespace swi_glu {
enum { kX, kDim, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  Axes axes;
  Shape shape;
  ASCEND_TWIN_TRY(half_of(call, call.integer(kDim), &axes, &shape));
  ASCEND_TWIN_TRY(need_shape(call, kOut, shape));
  return need_same_type(call, kX, kOut);
}

Status run(Kernel& kernel) {
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(kernel.call, kX, kernel.call.integer(kDim), &axes));
  std::vector<double> results = read_half(kernel.operand(kX), axes, false);
  const std::vector<double> gates = read_half(kernel.operand(kX), axes, true);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = silu_of(results[i]) * gates[i];
  write(kernel.operand(kOut), results);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& /*call*/) {
  return static_cast<std::uint64_t>(unknown("swiglu workspace"));
}

constexpr Op kOp{
    .name = "SwiGlu", .roles = "ino", .check = check, .run = run, .workspace = workspace};
}  // namespace swi_glu

namespace ge_glu {
enum { kSelf, kDim, kApproximate, kActivateLeft, kOut, kOutGelu };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  Axes axes;
  Shape shape;
  ASCEND_TWIN_TRY(half_of(call, call.integer(kDim), &axes, &shape));
  if (call.integer(kApproximate) != 0 && call.integer(kApproximate) != 1) {
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kApproximate) + " is " +
                                               std::to_string(call.integer(kApproximate)) +
                                               ", neither 0 (erf) nor 1 (tanh)");
  }
  for (const std::size_t out : {kOut, kOutGelu}) {
    ASCEND_TWIN_TRY(need_shape(call, out, shape));
    ASCEND_TWIN_TRY(need_same_type(call, kSelf, out));
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(call, kSelf, call.integer(kDim), &axes));
  const bool is_left = call.integer(kActivateLeft) != 0;
  std::vector<double> activated = read_half(kernel.operand(kSelf), axes, !is_left);
  std::vector<double> results = read_half(kernel.operand(kSelf), axes, is_left);
  for (std::size_t i = 0; i < results.size(); ++i) {
    activated[i] =
        call.integer(kApproximate) == 0 ? gelu_erf_of(activated[i]) : twin::gelu_of(activated[i]);
    results[i] *= activated[i];
  }
  write(kernel.operand(kOut), results);
  write(kernel.operand(kOutGelu), activated);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& /*call*/) {
  return static_cast<std::uint64_t>(unknown("geglu workspace"));
}

constexpr Op kOp{
    .name = "GeGluV3", .roles = "innnoo", .check = check, .run = run, .workspace = workspace};
}  // namespace ge_glu

}  // namespace gated

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(SwiGlu, ascend_twin::gated::swi_glu::kOp, (x, dim, out), const aclTensor* x, int64_t dim,
          aclTensor* out)
ASCEND_OP(GeGluV3, ascend_twin::gated::ge_glu::kOp,
          (self, dim, approximate, activateLeft, out, outGelu), const aclTensor* self, int64_t dim,
          int64_t approximate, bool activateLeft, aclTensor* out, aclTensor* outGelu)
