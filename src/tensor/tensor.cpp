#include "shunt/tensor.h"

#include <algorithm>

#include "shunt/message.h"
#include "tensor/checked.h"

namespace shunt {
namespace {

/// Strides of a contiguous tensor, one for each dimension, and last its bytes. False if any of them
/// has more than 63 bits.
bool contiguous_strides(const DTypeTrait& type, const Shape& shape,
                        std::array<std::int64_t, kMaxDims + 1>* strides) {
  std::int64_t stride = static_cast<std::int64_t>(type.block_bytes);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (*strides)[i] = stride;
    const std::int64_t blocks = i == 0 ? shape[i].max / type.block_elements : shape[i].max;
    if (!multiply_into(&stride, blocks)) return false;
  }
  (*strides)[kMaxDims] = stride;
  return true;
}

}  // namespace

Result<Tensor> make_tensor(DType dtype, const Shape& shape) {
  const DTypeTrait& type = trait(dtype);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].max < 0) {
      return invalid("{} {}: dimension {} is negative", type.name, to_string(shape), i);
    }
  }
  // Rows stay whole blocks at every value of the dynamic dimension only if each of its units is
  // whole blocks.
  if (shape[0].max % type.block_elements != 0 || shape[0].factor % type.block_elements != 0) {
    return invalid("{} {}: rows must be whole blocks, that is a multiple of {} elements", type.name,
                   to_string(shape), type.block_elements);
  }
  std::array<std::int64_t, kMaxDims + 1> strides = {};
  if (!contiguous_strides(type, shape, &strides)) {
    return invalid("{} {}: its size in bytes has more than 63 bits", type.name, to_string(shape));
  }
  Tensor tensor{dtype, shape, {}};
  std::copy_n(strides.begin(), kMaxDims, tensor.strides.begin());
  return tensor;
}

std::int64_t byte_span(const Tensor& tensor) {
  if (element_count(tensor.shape) == 0) return 0;
  const DTypeTrait& type = trait(tensor.dtype);
  std::int64_t span = static_cast<std::int64_t>(type.block_bytes);
  for (int i = 0; i < kMaxDims; ++i) {
    const std::int64_t steps = (i == 0 ? tensor.size(i) / type.block_elements : tensor.size(i)) - 1;
    span = saturating_add(span,
                          saturating_multiply(std::max<std::int64_t>(steps, 0), tensor.stride(i)));
  }
  return span;
}

bool is_contiguous(const Tensor& tensor) {
  if (element_count(tensor.shape) == 0) return true;
  std::array<std::int64_t, kMaxDims + 1> strides = {};
  if (!contiguous_strides(trait(tensor.dtype), tensor.shape, &strides)) return false;
  for (int i = 0; i < kMaxDims; ++i) {
    // The stride of a dimension of one element is never taken, so that it may be anything.
    if (tensor.size(i) != 1 && tensor.stride(i) != strides[static_cast<std::size_t>(i)])
      return false;
  }
  return true;
}

std::string to_string(const Tensor& tensor) {
  return std::string(to_string(tensor.dtype)) + " " + to_string(tensor.shape);
}

}  // namespace shunt
