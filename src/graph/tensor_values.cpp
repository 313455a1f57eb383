#include "graph/tensor_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/byte_order.h"
#include "tensor/formats/half.h"

namespace shunt {

namespace {

/// To the nearest; saturated; 0 for not-a-number.
template <class T>
T from_double(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    const double nearest = std::nearbyint(value);
    // Powers of two, which a double holds exactly where it does not hold the largest T.
    constexpr double kEnd = -static_cast<double>(std::numeric_limits<T>::min());
    if (nearest >= kEnd) return std::numeric_limits<T>::max();
    if (nearest < -kEnd) return std::numeric_limits<T>::min();
    return static_cast<T>(nearest);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void read_plain(const std::byte* from, std::int64_t stride, std::span<double> to) {
  for (double& value : to) {
    T number = {};
    std::memcpy(&number, from, sizeof number);
    value = static_cast<double>(number);
    from += stride;
  }
}

template <class T>
void write_plain(std::span<const double> from, std::byte* to, std::int64_t stride) {
  for (const double value : from) {
    const T number = from_double<T>(value);
    std::memcpy(to, &number, sizeof number);
    to += stride;
  }
}

/// Types that have numbers which a float does not.
struct WideType {
  DType dtype;
  void (*read)(const std::byte* from, std::int64_t stride, std::span<double> to);
  void (*write)(std::span<const double> from, std::byte* to, std::int64_t stride);
};
constexpr WideType kWideTypes[] = {
    {DType::kF64, read_plain<double>, write_plain<double>},
    {DType::kI64, read_plain<std::int64_t>, write_plain<std::int64_t>},
    {DType::kI32, read_plain<std::int32_t>, write_plain<std::int32_t>},
};

const WideType* wide_type(DType dtype) {
  const auto* found = std::ranges::find(kWideTypes, dtype, &WideType::dtype);
  return found == std::end(kWideTypes) ? nullptr : found;
}

/// For types that no one stores: the largest magnitude is 127, and sums are as they should be.
void encode_for_products(const DTypeTrait& type, const float* from, std::byte* to) {
  const auto n = static_cast<std::size_t>(type.block_elements);
  const bool k = type.dtype == DType::kQ8_K;
  float largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(from[i]));
  const float d = largest / 127;
  std::byte* numbers = to + 4;
  std::int32_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto q = static_cast<std::int8_t>(d > 0 ? std::round(from[i] / d) : 0);
    store_little(q, numbers + i);
    total += q;
    if (k && i % 16 == 15) {
      store_little(static_cast<std::int16_t>(total), numbers + n + i / 16 * 2);
      total = 0;
    }
  }
  if (k) return store_little(d, to);
  store_little(formats::f32_to_f16(d), to);
  store_little(formats::f32_to_f16(d * static_cast<float>(total)), to + 2);
}

void encode_blocks(const DTypeTrait& type, std::span<const float> row, std::byte* to) {
  const auto n = static_cast<std::int64_t>(row.size());
  if (type.encode != nullptr) return type.encode(row.data(), to, n);
  if (type.needs_weights()) {
    const std::vector<float> ones(row.size(), 1.0F);
    return type.encode_weighted(row.data(), ones.data(), to, n);
  }
  for (std::int64_t i = 0; i < n; i += type.block_elements, to += type.block_bytes) {
    encode_for_products(type, row.data() + i, to);
  }
}

void write_row(DType dtype, std::span<const double> from, std::byte* to, std::int64_t stride) {
  if (const WideType* wide = wide_type(dtype)) return wide->write(from, to, stride);
  const DTypeTrait& type = trait(dtype);
  const std::vector<float> row(from.begin(), from.end());
  if (stride == static_cast<std::int64_t>(type.block_bytes)) return encode_blocks(type, row, to);
  for (std::size_t i = 0; i < row.size(); ++i, to += stride) type.encode(&row[i], to, 1);
}

/// Calls visit(start, offset) for each row: where it starts among the values, and its offset in
/// memory in bytes.
template <class F>
void for_rows(const Tensor& tensor, const Sizes& sizes, F&& visit) {
  std::size_t start = 0;
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        visit(start, i1 * tensor.stride(1) + i2 * tensor.stride(2) + i3 * tensor.stride(3));
        start += static_cast<std::size_t>(sizes[0]);
      }
    }
  }
}

Tensor contiguous(DType dtype, const Sizes& sizes) {
  return *make_tensor(dtype, {sizes[0], sizes[1], sizes[2], sizes[3]});
}

}  // namespace

void read_row(DType dtype, const std::byte* from, std::int64_t stride, std::span<double> to) {
  if (const WideType* wide = wide_type(dtype)) return wide->read(from, stride, to);
  const DTypeTrait& type = trait(dtype);
  constexpr std::size_t kPiece = 1024;  // whole blocks of every type
  std::array<float, kPiece> piece;
  const auto block = static_cast<std::size_t>(type.block_elements);
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t count = std::min(kPiece, to.size() - done);
    if (stride == static_cast<std::int64_t>(type.block_bytes)) {
      type.decode(from, piece.data(), static_cast<std::int64_t>(count));
    } else {  // never a block type: its rows are contiguous
      for (std::size_t i = 0; i < count; ++i) {
        type.decode(from + static_cast<std::int64_t>(i) * stride, &piece[i], 1);
      }
    }
    std::copy_n(piece.begin(), count, to.begin() + static_cast<std::ptrdiff_t>(done));
    from += static_cast<std::int64_t>(count / block) * stride;
    done += count;
  }
}

RefTensor read_tensor(const std::byte* data, const Tensor& tensor, const Sizes& sizes) {
  RefTensor values(sizes);
  values.most = max_sizes(tensor.shape);
  if (values.data.empty()) return values;
  const std::span all(values.data);
  for_rows(tensor, sizes, [&](std::size_t start, std::int64_t offset) {
    read_row(tensor.dtype, data + offset, tensor.stride(0),
             all.subspan(start, static_cast<std::size_t>(sizes[0])));
  });
  return values;
}

void write_tensor(const RefTensor& values, const Tensor& tensor, std::byte* data) {
  if (values.data.empty()) return;
  const std::span all(values.data);
  for_rows(tensor, values.sizes, [&](std::size_t start, std::int64_t offset) {
    write_row(tensor.dtype, all.subspan(start, static_cast<std::size_t>(values.sizes[0])),
              data + offset, tensor.stride(0));
  });
}

std::vector<std::byte> to_bytes(const RefTensor& values, DType dtype) {
  const Tensor tensor = contiguous(dtype, values.sizes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
  write_tensor(values, tensor, bytes.data());
  return bytes;
}

RefTensor rounded(const RefTensor& values, DType dtype) {
  return read_tensor(to_bytes(values, dtype).data(), contiguous(dtype, values.sizes), values.sizes);
}

double nmse(const RefTensor& a, const RefTensor& b, const RefTensor* before) {
  if (a.sizes != b.sizes) return std::numeric_limits<double>::infinity();
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const auto normal = [](double value) {
      return std::abs(value) < std::numeric_limits<float>::min() ? 0 : value;
    };
    const double x = normal(a.data[i]);
    const double y = normal(b.data[i]);
    const bool counts = before == nullptr || before->data[i] != b.data[i];
    if (counts && std::isfinite(y)) norm += y * y;
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
    error += (x - y) * (x - y);
  }
  return norm > 0 ? error / norm : error;
}

}  // namespace shunt
