#include "backend_support/host_tensor.h"

#include <algorithm>
#include <array>

#include "graph/tensor_values.h"

namespace shunt {

bool HostTensor::is_dense() const {
  const DTypeTrait& type = trait(dtype);
  auto expected = static_cast<std::int64_t>(type.block_bytes);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= i == 0 ? sizes[i] / type.block_elements : sizes[i];
  }
  return true;
}

bool is_empty(const Sizes& sizes) {
  return std::ranges::any_of(sizes, [](std::int64_t size) { return size == 0; });
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

void write_floats(std::span<const float> from, const HostTensor& to, std::int64_t row,
                  std::int64_t begin) {
  const DTypeTrait& type = trait(to.dtype);
  std::byte* const start =
      to.data + row * to.strides[1] + begin / type.block_elements * to.strides[0];
  type.encode(from.data(), start, std::ssize(from));
}

std::int64_t integer_at(const HostTensor& tensor, std::int64_t i0, std::int64_t i1) {
  const std::byte* const at = tensor.row(i1, 0, 0) + i0 * tensor.strides[0];
  return tensor.dtype == DType::kI32 ? *reinterpret_cast<const std::int32_t*>(at)
                                     : *reinterpret_cast<const std::int64_t*>(at);
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

void gather(const HostTensor& tensor, std::int64_t matrix, const MatrixPart& part, float* to) {
  for (std::int64_t r = 0; r < part.rows; ++r, to += part.elements) {
    read_floats(tensor, tensor.row(part.row + r, matrix), part.element, part.elements, to);
  }
}

void scatter(const float* from, const HostTensor& to) {
  const Sizes& n = to.sizes;
  for (std::int64_t i3 = 0; i3 < n[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < n[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < n[1]; ++i1, from += n[0]) {
        std::copy_n(from, n[0], to.floats(i1, i2, i3));
      }
    }
  }
}

void gather_transposed(const HostTensor& tensor, std::int64_t matrix, const MatrixPart& part,
                       float* scratch, float* to) {
  for (std::int64_t r = 0; r < part.rows; ++r) {
    read_floats(tensor, tensor.row(part.row + r, matrix), part.element, part.elements, scratch);
    for (std::int64_t e = 0; e < part.elements; ++e) to[e * part.rows + r] = scratch[e];
  }
}

void gather_transposed(const HostTensor& tensor, float* scratch, float* to) {
  const Sizes& n = tensor.sizes;
  for (std::int64_t i = 0; i < n[2] * n[3]; ++i, to += n[0] * n[1]) {
    gather_transposed(tensor, i, {0, n[0], 0, n[1]}, scratch, to);
  }
}

bool is_always_dense(const Tensor& tensor) {
  if (!is_contiguous(tensor)) return false;
  std::size_t last = kMaxDims - 1;  // of more than one element: behind it there is no gap
  while (last > 0 && tensor.shape[last] == Dim(1)) --last;
  for (std::size_t i = 0; i < last; ++i) {
    if (!tensor.shape[i].is_fixed()) return false;
  }
  return last > 0 || tensor.shape[0].is_fixed();
}

}  // namespace shunt
