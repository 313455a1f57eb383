#include "backend_support/host_matrix.h"

#include <limits>

namespace shunt {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// Whether lines of `floats` floats can be `bytes` bytes apart.
bool can_stride(std::int64_t bytes, std::int64_t floats) {
  return bytes % kFloat == 0 && bytes / kFloat >= floats &&
         bytes / kFloat <= std::numeric_limits<int>::max();
}

}  // namespace

FloatMatrix float_matrix(const HostTensor& tensor, std::int64_t i2, std::int64_t i3,
                         const MatrixPart& part, float* room) {
  // A single line may have any stride.
  const std::int64_t row_stride = part.rows == 1 ? part.elements * kFloat : tensor.strides[1];
  const std::int64_t element_stride = part.elements == 1 ? part.rows * kFloat : tensor.strides[0];
  if (tensor.dtype == DType::kF32) {
    const auto* const start = reinterpret_cast<const float*>(tensor.row(part.row, i2, i3) +
                                                             part.element * tensor.strides[0]);
    const bool dense_rows = tensor.strides[0] == kFloat || part.elements == 1;
    if (dense_rows && can_stride(row_stride, part.elements)) {
      return {start, static_cast<int>(row_stride / kFloat), false};
    }
    const bool dense_columns = tensor.strides[1] == kFloat || part.rows == 1;
    if (dense_columns && can_stride(element_stride, part.rows)) {
      return {start, static_cast<int>(element_stride / kFloat), true};
    }
  }
  if (room != nullptr) gather(tensor, i3 * tensor.sizes[2] + i2, part, room);
  return {room, static_cast<int>(part.elements), false};
}

}  // namespace shunt
