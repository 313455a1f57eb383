#include "backends/zdnn/host_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/tensor_values.h"

namespace shunt::zdnn {

bool HostTensor::is_dense() const {
  const DTypeTrait& type = trait(dtype);
  auto expected = static_cast<std::int64_t>(type.block_bytes);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= i == 0 ? sizes[i] / type.block_elements : sizes[i];
  }
  return true;
}

void read_floats(const HostTensor& tensor, const std::byte* row, std::int64_t begin, std::int64_t n,
                 float* to) {
  const DTypeTrait& type = trait(tensor.dtype);
  const std::byte* from = row + begin / type.block_elements * tensor.strides[0];
  if (tensor.strides[0] == static_cast<std::int64_t>(type.block_bytes)) {
    type.decode(from, to, n);
    return;
  }
  std::array<double, 256> values = {};
  for (std::int64_t done = 0; done < n;) {
    const auto count = std::min<std::int64_t>(std::ssize(values), n - done);
    read_row(tensor.dtype, from + done * tensor.strides[0], tensor.strides[0],
             std::span(values).first(static_cast<std::size_t>(count)));
    std::transform(values.begin(), values.begin() + count, to + done,
                   [](double value) { return static_cast<float>(value); });
    done += count;
  }
}

Range range_of(std::span<float> values, bool saturate) {
  Range range = Range::kInside;
  for (float& value : values) {
    if (std::fabs(value) <= kLargest) continue;
    if (!saturate || !std::isfinite(value)) return Range::kBeyond;
    value = std::copysign(kLargest, value);
    range = Range::kSaturated;
  }
  return range;
}

void gather(const HostTensor& tensor, const Sizes& sizes, float* to) {
  const Sizes& own = tensor.sizes;
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        const std::byte* const row = tensor.row(i1 % own[1], i2 % own[2], i3 % own[3]);
        read_floats(tensor, row, 0, own[0], to);
        for (std::int64_t i0 = own[0]; i0 < sizes[0]; ++i0) to[i0] = to[i0 - own[0]];
        to += sizes[0];
      }
    }
  }
}

void gather_transposed(const HostTensor& tensor, std::int64_t i2, std::int64_t i3, std::int64_t row,
                       std::int64_t rows, std::int64_t begin, std::int64_t n, float* scratch,
                       float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    read_floats(tensor, tensor.row(row + r, i2, i3), begin, n, scratch);
    for (std::int64_t e = 0; e < n; ++e) to[e * rows + r] = scratch[e];
  }
}

}  // namespace shunt::zdnn
