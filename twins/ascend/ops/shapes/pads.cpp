// Larger tensors around others.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace constant_pad {
enum { kSelf, kPads, kValue, kOut };

/// Pads come in pairs, the last dimension's first; negative ones take away.
std::int64_t pad_before(const Call& call, std::size_t axis) {
  const std::size_t pair = call.view(kSelf).rank() - 1 - axis;
  const std::vector<std::int64_t>& pads = call.integers(kPads);
  return 2 * pair < pads.size() ? pads[2 * pair] : 0;
}
std::int64_t pad_after(const Call& call, std::size_t axis) {
  const std::size_t pair = call.view(kSelf).rank() - 1 - axis;
  const std::vector<std::int64_t>& pads = call.integers(kPads);
  return 2 * pair < pads.size() ? pads[2 * pair + 1] : 0;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  const std::size_t count = call.integers(kPads).size();
  if (count % 2 != 0 || count > 2 * call.view(kSelf).rank())
    return invalid_argument(call, kSelf, "for " + std::to_string(count) + " pads");
  ASCEND_TWIN_TRY(need_integers(call, kPads, count, INT32_MIN));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  Shape shape = call.view(kSelf).shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] += pad_before(call, i) + pad_after(call, i);
    if (shape[i] < 0) return invalid_argument(call, kSelf, "for pads that leave less than nothing");
  }
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const Operand& out = kernel.operand(kOut);
  const Shape& shape = call.view(kSelf).shape;
  const std::vector<std::int64_t> sources = sources_of(out.view.shape, [&](Shape place) {
    for (std::size_t i = 0; i < place.size(); ++i) {
      place[i] -= pad_before(call, i);
      if (place[i] < 0 || place[i] >= shape[i]) return kFill;
    }
    return number_of(shape, place);
  });
  pick_elements(kernel.operand(kSelf), sources, out, filling_of(call.at(kValue)));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "ConstantPadNd", .roles = "iaso", .check = check, .run = run};
}  // namespace constant_pad

namespace reflection_pad {
enum { kSelf, kPads, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 2, 3));
  ASCEND_TWIN_TRY(need_integers(call, kPads, 2, 0));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  Shape shape = call.view(kSelf).shape;
  for (const std::int64_t pad : call.integers(kPads)) {
    if (pad >= call.view(kSelf).shape.back())
      return invalid_argument(call, kSelf, "for a pad of " + std::to_string(pad));
    shape.back() += pad;
  }
  return need_shape(call, kOut, shape);
}

/// The edge itself is not repeated.
Status run(Kernel& kernel) {
  const Shape& shape = kernel.call.view(kSelf).shape;
  const std::int64_t last = shape.back() - 1;
  const std::vector<std::int64_t> sources =
      sources_of(kernel.operand(kOut).view.shape, [&](Shape place) {
        std::int64_t column = place.back() - kernel.call.integers(kPads)[0];
        if (column < 0) column = -column;
        if (column > last) column = 2 * last - column;
        place.back() = column;
        return number_of(shape, place);
      });
  pick_elements(kernel.operand(kSelf), sources, kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "ReflectionPad1d", .roles = "iao", .check = check, .run = run};
}  // namespace reflection_pad

namespace upsample {
enum { kSelf, kSize, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 4, 4));
  ASCEND_TWIN_TRY(need_integers(call, kSize, 2, 1));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  Shape shape = call.view(kSelf).shape;
  if (elements_of(shape) == 0) return invalid_argument(call, kSelf, "empty");
  shape[2] = call.integers(kSize)[0];
  shape[3] = call.integers(kSize)[1];
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Shape& shape = kernel.call.view(kSelf).shape;
  const Shape& larger = kernel.operand(kOut).view.shape;
  const std::vector<std::int64_t> sources = sources_of(larger, [&](Shape place) {
    for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
      place[i] = place[i] * shape[i] / larger[i];
    return number_of(shape, place);
  });
  pick_elements(kernel.operand(kSelf), sources, kernel.operand(kOut));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "UpsampleNearest2d", .roles = "iao", .check = check, .run = run};
}  // namespace upsample

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(ConstantPadNd, ascend_twin::constant_pad::kOp, (self, pad, value, out),
          const aclTensor* self, const aclIntArray* pad, const aclScalar* value, aclTensor* out)
ASCEND_OP(ReflectionPad1d, ascend_twin::reflection_pad::kOp, (self, padding, out),
          const aclTensor* self, const aclIntArray* padding, aclTensor* out)
ASCEND_OP(UpsampleNearest2d, ascend_twin::upsample::kOp, (self, outputSize, out),
          const aclTensor* self, const aclIntArray* outputSize, aclTensor* out)
