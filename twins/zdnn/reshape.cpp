// A transformed tensor copied into another shape: zdnn_reshape_ztensor.
#include "host_numbers.h"
#include "strict.h"
#include "transform.h"

using namespace zdnn_twin;

namespace {

zdnn_status check(const zdnn_ztensor* source, const zdnn_ztensor* target) {
  if (source == nullptr || target == nullptr)
    return misuse(ZDNN_INVALID_BUFFER, "there is no tensor");
  ZDNN_TWIN_TRY(check_transformed(source->transformed_desc));
  ZDNN_TWIN_TRY(check_transformed(target->transformed_desc));
  const zdnn_tensor_desc& from = *source->transformed_desc;
  const zdnn_tensor_desc& to = *target->transformed_desc;
  if (from.layout != to.layout || (from.layout != ZDNN_NHWC && from.layout != ZDNN_HWCK))
    return refuse(ZDNN_INVALID_LAYOUT, "both layouts must be NHWC, or both HWCK");
  if (from.type != to.type) return refuse(ZDNN_INVALID_TYPE, "the types differ");
  if (from.format != to.format) return refuse(ZDNN_INVALID_FORMAT, "the formats differ");
  if (element_count(from) != element_count(to))
    return refuse(ZDNN_INVALID_SHAPE, "the numbers of elements differ");
  if (!source->is_transformed) return refuse(ZDNN_INVALID_STATE, "the source is not transformed");
  if (target->is_transformed)
    return refuse(ZDNN_INVALID_STATE, "the target is transformed already");
  ZDNN_TWIN_TRY(check_buffer(*source));
  ZDNN_TWIN_TRY(check_buffer(*target));
  return check_input(*source);
}

// The byte of the element that is the index-th in row-major order.
std::uint64_t byte_of(const zdnn_tensor_desc& desc, const Sticks& sticks, std::uint64_t index) {
  const std::uint64_t e1 = index % desc.dim1;
  const std::uint64_t row = index / desc.dim1;
  const std::uint64_t e2 = row % desc.dim2;
  const std::uint64_t plane = row / desc.dim2;
  return sticks.row(plane / desc.dim3, plane % desc.dim3, e2) + sticks.within_row(e1);
}

}  // namespace

zdnn_status zdnn_reshape_ztensor(const zdnn_ztensor* src, zdnn_ztensor* dest) {
  return guarded("zdnn_reshape_ztensor", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(src, dest));
    const zdnn_tensor_desc& from = *src->transformed_desc;
    const zdnn_tensor_desc& to = *dest->transformed_desc;
    const Sticks from_sticks(from);
    const Sticks to_sticks(to);
    auto* target = static_cast<std::byte*>(dest->buffer);
    const auto* source = static_cast<const std::byte*>(src->buffer);
    for (std::uint64_t i = 0; i < element_count(from); ++i)
      std::memcpy(target + byte_of(to, to_sticks, i), source + byte_of(from, from_sticks, i),
                  from_sticks.cell_bytes());
    to_sticks.poison_padding(target);
    written(*dest);
    dest->is_transformed = true;
    return ZDNN_OK;
  });
}
