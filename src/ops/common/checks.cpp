#include "ops/common/checks.h"

#include <algorithm>
#include <cmath>

namespace shunt {

std::string to_string(const Dim& dim) {
  return fmt::format("{}{}", dim.max, dim.is_fixed() ? "" : "*");
}

std::string list_types(std::span<const DType> types) {
  std::string list;
  for (DType dtype : types) {
    if (!list.empty()) list += dtype == types.back() ? " or " : ", ";
    list += to_string(dtype);
  }
  return list;
}

Status expect_type(std::string_view name, const Tensor& tensor, std::span<const DType> allowed) {
  if (std::ranges::find(allowed, tensor.dtype) != allowed.end()) return ok();
  return invalid("{} is {}, not {}", name, to_string(tensor), list_types(allowed));
}

Status expect_type(std::string_view name, const Tensor& tensor,
                   std::initializer_list<DType> allowed) {
  return expect_type(name, tensor, std::span<const DType>(allowed.begin(), allowed.size()));
}

Status expect_float_type(std::string_view name, const Tensor& tensor) {
  return expect_type(name, tensor, {DType::kF32, DType::kF16, DType::kBF16});
}

Status expect_id_type(std::string_view name, const Tensor& tensor) {
  return expect_type(name, tensor, {DType::kI32, DType::kI64});
}

Status expect_weight_type(std::string_view name, const Tensor& tensor) {
  if (!trait(tensor.dtype).integer && tensor.dtype != DType::kF64) return ok();
  return invalid("{} is {}; it may be of any type but F64 and integers", name, to_string(tensor));
}

Status expect_plain_type(std::string_view name, const Tensor& tensor) {
  if (!trait(tensor.dtype).quantized) return ok();
  return invalid("{} is {}, whose elements are in blocks and can't be moved one by one", name,
                 to_string(tensor));
}

Status expect_whole_blocks(std::string_view what, std::int64_t count, std::string_view name,
                           const Tensor& tensor) {
  const std::int64_t block = trait(tensor.dtype).block_elements;
  if (count % block == 0) return ok();
  return invalid("{} is {}, which is not whole blocks of {}, {}, which have {}", what, count, name,
                 to_string(tensor), block);
}

Status expect_conversion(std::string_view from_name, const Tensor& from, std::string_view to_name,
                         const Tensor& to) {
  const DTypeTrait& type = trait(to.dtype);
  if (from.dtype == to.dtype || type.encode != nullptr) return ok();
  return invalid(
      "{} is {}, which is not converted to {}'s type, {}: {}", from_name, to_string(from), to_name,
      type.name,
      type.needs_weights() ? "that needs an importance matrix" : "that is not a type for storage");
}

Status expect_dim(std::string_view name, const Tensor& tensor, int dim, const Dim& wanted,
                  std::string_view why) {
  const Dim& found = tensor.shape[static_cast<std::size_t>(dim)];
  if (found == wanted) return ok();
  if (found.max == wanted.max) {
    return invalid("dimension {} of {} is {}, which is another dynamic dimension than {}, {}", dim,
                   name, to_string(found), why, to_string(wanted));
  }
  return invalid("dimension {} of {} is {}, but {} is {}", dim, name, to_string(found), why,
                 to_string(wanted));
}

Status expect_fixed(std::string_view name, const Tensor& tensor, std::size_t dim) {
  if (tensor.shape[dim].is_fixed()) return ok();
  return invalid("dimension {} of {} is {}, a dynamic dimension, but must be fixed", dim, name,
                 to_string(tensor.shape[dim]));
}

Status expect_dims(std::string_view name, const Tensor& tensor, int dims) {
  for (int i = dims; i < kMaxDims; ++i) {
    if (tensor.shape[static_cast<std::size_t>(i)] == Dim(1)) continue;
    return invalid("{} is {}, which has more than {} dimension{}", name, to_string(tensor), dims,
                   dims == 1 ? "" : "s");
  }
  return ok();
}

Status expect_number(std::string_view name, const Tensor& tensor) {
  if (tensor.shape == Shape{}) return ok();
  return invalid("{} is {}, not a single number", name, to_string(tensor));
}

Status expect_same_shape(std::string_view a_name, const Tensor& a, std::string_view b_name,
                         const Tensor& b) {
  if (a.shape == b.shape) return ok();
  if (max_sizes(a.shape) == max_sizes(b.shape)) {
    return invalid("{} and {} differ in their dynamic dimensions: {} and {}", a_name, b_name,
                   to_string(a.shape), to_string(b.shape));
  }
  return invalid("{} and {} differ in shape: {} and {}", a_name, b_name, to_string(a.shape),
                 to_string(b.shape));
}

bool divides(const Dim& part, const Dim& whole) {
  if (part == whole) return true;
  if (!part.is_fixed() || part.max <= 0) return false;
  return (whole.is_fixed() ? whole.max : whole.factor) % part.max == 0;
}

Status expect_broadcast(std::string_view b_name, const Tensor& b, std::string_view a_name,
                        const Tensor& a) {
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (divides(b.shape[i], a.shape[i])) continue;
    return invalid("dimension {} of {} is {}, which does not divide that of {}, {}", i, b_name,
                   to_string(b.shape[i]), a_name, to_string(a.shape[i]));
  }
  return ok();
}

Status expect_mask(const Tensor& mask, const Shape& scores) {
  SHUNT_TRY(expect_type("mask", mask, {DType::kF32, DType::kF16}));
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (mask.shape[i] == scores[i] || (i >= 2 && mask.shape[i] == Dim(1))) continue;
    return invalid("mask is {}, but the scores are {} (dimensions 2 and 3 of the mask may be 1)",
                   to_string(mask), to_string(scores));
  }
  return ok();
}

Status expect_finite(std::string_view name, double value) {
  if (std::isfinite(value)) return ok();
  return invalid("{} is {}, which is not a finite number", name, value);
}

Status expect_positive(std::string_view name, float value) {
  if (std::isfinite(value) && value > 0) return ok();
  return invalid("{} is {}, which is not a number above 0", name, value);
}

Status expect_not_negative(std::string_view name, float value) {
  if (std::isfinite(value) && value >= 0) return ok();
  return invalid("{} is {}, which is not a number of at least 0", name, value);
}

Result<Inferred> contiguous(DType dtype, const Shape& shape) {
  SHUNT_ASSIGN(Tensor tensor, make_tensor(dtype, shape));
  return Inferred{tensor};
}

}  // namespace shunt
