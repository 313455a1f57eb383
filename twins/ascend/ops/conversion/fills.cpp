// Constants: the whole tensor, where a mask is set, and sequences.
#include <cmath>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace fills {
enum { kSelf, kValue };

Status check(Call& call) {
  return need_plain(call);
}

Status run_zero(Kernel& kernel) {
  fill_elements(kernel.operand(kSelf), {});
  return ACL_SUCCESS;
}
Status run_one(Kernel& kernel) {
  fill_elements(kernel.operand(kSelf), {.real = 1, .integer = 1});
  return ACL_SUCCESS;
}
Status run_value(Kernel& kernel) {
  fill_elements(kernel.operand(kSelf), filling_of(kernel.call.at(kValue)));
  return ACL_SUCCESS;
}

constexpr Op kZero{.name = "InplaceZero", .roles = "o", .check = check, .run = run_zero};
constexpr Op kOne{.name = "InplaceOne", .roles = "o", .check = check, .run = run_one};
constexpr Op kFillScalar{
    .name = "InplaceFillScalar", .roles = "os", .check = check, .run = run_value};
}  // namespace fills

namespace masked_fill {
enum { kSelf, kMask, kValue };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_type(call, kMask, {ACL_BOOL}));
  Shape shape;
  if (!broadcast_shapes(call.view(kSelf).shape, call.view(kMask).shape, &shape) ||
      shape != call.view(kSelf).shape) {
    return invalid_argument(call, kMask,
                            "which does not broadcast to " + text_of(call.view(kSelf).shape));
  }
  return ACL_SUCCESS;
}

/// Only elements that the mask selects are written.
Status run(Kernel& kernel) {
  const Operand& self = kernel.operand(kSelf);
  const Operand& mask = kernel.operand(kMask);
  const std::vector<std::int64_t> selected =
      read_integers(viewed(mask, broadcast(mask.view, self.view.shape)));
  View cell = self.view;
  cell.shape.clear();
  cell.strides.clear();
  for (std::size_t i = 0; i < selected.size(); ++i) {
    if (selected[i] == 0) continue;
    cell.offset = self.view.place_of(static_cast<std::int64_t>(i));
    fill_elements(viewed(self, cell), filling_of(kernel.call.at(kValue)));
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "InplaceMaskedFillScalar", .roles = "ois", .check = check, .run = run};
}  // namespace masked_fill

namespace arange {
enum { kStart, kEnd, kStep, kOut };

bool is_whole(const Call& call) {
  return !is_float(call.at(kStart).type) && !is_float(call.at(kEnd).type) &&
         !is_float(call.at(kStep).type);
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  const double start = call.real(kStart);
  const double end = call.real(kEnd);
  const double step = call.real(kStep);
  if (!std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step) || step == 0)
    return invalid_argument(call, kStep, "not a step of a finite sequence");
  if ((end - start) / step < 0) return invalid_argument(call, kEnd, "on the other side of start");
  const double count = std::ceil((end - start) / step);
  if (call.view(kOut).rank() != 1 || static_cast<double>(call.view(kOut).shape[0]) != count) {
    return invalid_argument(call, kOut, "not of " + std::to_string(count) + " elements");
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const Operand& out = kernel.operand(kOut);
  const auto count = static_cast<std::size_t>(out.view.elements());
  if (is_whole(call)) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      // Without a sign: the first products of a wide range overflow on the way to their sums.
      values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(call.integer(kStart)) +
                                            i * static_cast<std::uint64_t>(call.integer(kStep)));
    }
    write_integers(out, values);
    return ACL_SUCCESS;
  }
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = call.real(kStart) + static_cast<double>(i) * call.real(kStep);
  write(out, values);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Arange", .roles = "ssso", .check = check, .run = run, .typed_by = kOut};
}  // namespace arange

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(InplaceZero, ascend_twin::fills::kZero, (selfRef), aclTensor* selfRef)
ASCEND_OP(InplaceOne, ascend_twin::fills::kOne, (selfRef), aclTensor* selfRef)
ASCEND_OP(InplaceFillScalar, ascend_twin::fills::kFillScalar, (selfRef, value), aclTensor* selfRef,
          const aclScalar* value)
ASCEND_OP(InplaceMaskedFillScalar, ascend_twin::masked_fill::kOp, (selfRef, mask, value),
          aclTensor* selfRef, const aclTensor* mask, const aclScalar* value)
ASCEND_OP(Arange, ascend_twin::arange::kOp, (start, end, step, out), const aclScalar* start,
          const aclScalar* end, const aclScalar* step, aclTensor* out)
