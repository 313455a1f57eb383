#include "ascend/ops/shapes/dimensions.h"

#include <algorithm>

#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {

Status invalid_argument(const Call& call, std::size_t position, const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", " + reason);
}

Status need_plain(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      if (view.is_nz()) return invalid_argument(call, i, "in FRACTAL_NZ");
      if (letter_of(view.type) == 0 || view.type == ACL_INT4)
        return invalid_argument(call, i, "a type that is not allowed");
      if (view.type == ACL_BF16 && !profile()->has_bf16)
        return invalid_argument(call, i, "a type that this chip has not");
      for (const std::int64_t size : view.shape) {
        if (size < 0) return invalid_argument(call, i, "a negative dimension");
      }
    }
  }
  return ACL_SUCCESS;
}

Status dimension_of(const Call& call, std::size_t position, std::int64_t dimension,
                    std::size_t* axis) {
  const auto rank = static_cast<std::int64_t>(std::max<std::size_t>(call.view(position).rank(), 1));
  if (dimension < -rank || dimension >= rank)
    return invalid_argument(call, position, "without dimension " + std::to_string(dimension));
  *axis = static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension);
  return ACL_SUCCESS;
}

Status need_integers(const Call& call, std::size_t position, std::size_t count,
                     std::int64_t least) {
  const std::vector<std::int64_t>& values = call.integers(position);
  if (values.size() != count) {
    return invalid_argument(
        call, position,
        "of " + std::to_string(values.size()) + " integers instead of " + std::to_string(count));
  }
  for (const std::int64_t value : values) {
    if (value < least || value > INT32_MAX)
      return invalid_argument(call, position, "has " + std::to_string(value));
  }
  return ACL_SUCCESS;
}

View at_least_one_dimension(View view) {
  if (view.rank() == 0) {
    view.shape = {1};
    view.strides = {1};
  }
  return view;
}

Split split_at(const Shape& shape, std::size_t axis) {
  Split split;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? split.outer : i == axis ? split.size : split.inner) *= shape[i];
  }
  return split;
}

std::vector<std::int64_t> sources_of(
    const Shape& result, const std::function<std::int64_t(const Shape& place)>& source_of) {
  const std::int64_t count = elements_of(result);
  std::vector<std::int64_t> sources;
  sources.reserve(static_cast<std::size_t>(count));
  Shape place(result.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    sources.push_back(source_of(place));
    for (std::size_t d = result.size(); d-- > 0;) {
      if (++place[d] < result[d]) break;
      place[d] = 0;
    }
  }
  return sources;
}

std::int64_t number_of(const Shape& shape, const Shape& place) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) number = number * shape[i] + place[i];
  return number;
}

Filling filling_of(const Argument& scalar) {
  return {scalar.real, scalar.integer, is_float(scalar.type)};
}

}  // namespace ascend_twin
