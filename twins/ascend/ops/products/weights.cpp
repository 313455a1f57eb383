// Weights in FRACTAL_NZ: how much memory they take, and the conversion in place.
#include <cstring>

#include "ascend/include/acl/aclnn_products.h"
#include "ascend/memory/space.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"
#include "ascend/profiles.h"
#include "ascend/strict/nz.h"
#include "ascend/support.h"
#include "ascend/tensors/nz.h"

namespace ascend_twin {
namespace {

namespace trans_weight {

/// The same memory after the conversion.
View converted(const View& view) {
  View result = view;
  result.format = ACL_FORMAT_FRACTAL_NZ;
  result.storage = nz_storage(view.type, view.shape);
  return result;
}

std::uint64_t converted_bytes(const View& view) {
  return bytes_of(view.type, static_cast<std::uint64_t>(nz_span(view)));
}

/// The size function counts elements, and its result is often taken for bytes.
Status check_room(const Call& call) {
  const View& view = call.view(0);
  if (view.base == nullptr || space().range_of(view.base) == nullptr) return ACL_SUCCESS;
  const Found found = space().find(view.base, converted_bytes(view));
  if (found.range != nullptr) return ACL_SUCCESS;
  return object(ACLNN_ERR_PARAM_INVALID, call.describe(0) + " has no room for NZ: " + found.why);
}

Status check(Call& call) {
  const View& view = call.view(0);
  ASCEND_TWIN_TRY(need_rank(call, 0, 2, profile()->chip == k910b ? 6 : 2));
  ASCEND_TWIN_TRY(need_nd(call, 0));
  if (!view.is_contiguous() || view.offset != 0)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(0) + ", not contiguous from its base");
  if (view.storage_elements() < view.elements())
    return refuse(ACLNN_ERR_INNER_NULLPTR, call.describe(0) + ", not within its storage");
  return check_room(call);
}

/// The descriptor says NZ from the first phase on.
void finish(const Call& call) {
  if (const auto tensor = descriptors().tensors.find(call.at(0).handle))
    tensor->view = converted(tensor->view);
}

std::uint64_t workspace(const Call& call) {
  return converted_bytes(call.view(0));
}

/// Bits are moved, never rounded.
Status run(Kernel& kernel) {
  Operand from = kernel.operand(0);
  Operand to;
  ASCEND_TWIN_TRY(open_operand(converted(from.view), Access::kWrite, kernel.call.describe(0), &to));
  if (from.view.type != ACL_INT8) from.view.type = to.view.type = ACL_UINT16;
  const std::vector<std::int64_t> elements = read_integers(from);
  std::memset(to.host, 0, converted_bytes(to.view));
  write_integers(to, elements);
  mark_nz(to.view.base, converted_bytes(converted(kernel.call.view(0))));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "TransMatmulWeight",
                 .roles = "x",
                 .check = check,
                 .run = run,
                 .workspace = workspace,
                 .touched = converted,
                 .finish = finish};
}  // namespace trans_weight

namespace weight_size {

/// Elements, not bytes.
Status of(const char* op, const aclIntArray* shape, aclDataType type, uint64_t* elements) {
  if (shape == nullptr || elements == nullptr)
    return refuse(ACLNN_ERR_PARAM_NULLPTR, "no shape, or no place for the size");
  const auto found = descriptors().int_arrays.find(shape);
  if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the shape was destroyed");
  if (const Status code = support_of(op, type); code != ACL_SUCCESS) {
    return refuse(code,
                  std::string("aclnn") + op + " of " + name_of(type) + ", which this chip has not");
  }
  const Shape& sizes = found->values;
  bool is_shape = sizes.size() >= 2 && sizes.size() <= 6;
  for (const std::int64_t size : sizes) is_shape = is_shape && size >= 0 && size <= UINT32_MAX;
  if (!is_shape) return refuse(ACLNN_ERR_PARAM_INVALID, "no shape of matrices: " + text_of(sizes));
  if (dense_view(type, sizes, nullptr).fault() != View::Fault::kNone)
    return refuse(ACLNN_ERR_PARAM_INVALID, "too many elements: " + text_of(sizes));
  std::uint64_t count = static_cast<std::uint64_t>(
      nz_elements(type, sizes[sizes.size() - 2], sizes[sizes.size() - 1]));
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i) count *= static_cast<std::uint64_t>(sizes[i]);
  *elements = count;
  return ACL_SUCCESS;
}

}  // namespace weight_size

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(TransMatmulWeight, ascend_twin::trans_weight::kOp, (mat), aclTensor* mat)

aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* shape, uint64_t* elements) {
  return ascend_twin::call("aclnnCalculateMatmulWeightSize", ascend_twin::Need::kContext, [&] {
    return ascend_twin::weight_size::of("CalculateMatmulWeightSize", shape, ACL_FLOAT16, elements);
  });
}

aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* shape, aclDataType type,
                                             uint64_t* elements) {
  return ascend_twin::call("aclnnCalculateMatmulWeightSizeV2", ascend_twin::Need::kContext, [&] {
    return ascend_twin::weight_size::of("CalculateMatmulWeightSizeV2", shape, type, elements);
  });
}
