#include "support/tensor_io.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

#include "tensor/byte_order.h"
#include "tensor/formats/half.h"

namespace shunt::test {

namespace {

/// Integers and F64 exactly; everything else by the type's trait.
double decode_one(DType dtype, const std::byte* from) {
  if (dtype == DType::kI64) {
    std::int64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  if (dtype == DType::kI32) {
    std::int32_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (dtype == DType::kF64) {
    double value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  float value = 0;
  trait(dtype).decode(from, &value, 1);
  return value;
}

void encode_one(DType dtype, double value, std::byte* to) {
  if (dtype == DType::kI64) {
    const auto integer = static_cast<std::int64_t>(value);
    std::memcpy(to, &integer, sizeof integer);
  } else if (dtype == DType::kI32) {
    const auto integer = static_cast<std::int32_t>(value);
    std::memcpy(to, &integer, sizeof integer);
  } else if (dtype == DType::kF64) {
    std::memcpy(to, &value, sizeof value);
  } else {
    const auto single = static_cast<float>(value);
    trait(dtype).encode(&single, to, 1);
  }
}

/// For types that no one stores: the largest magnitude is 127, and sums are as they should be.
void encode_for_products(const DTypeTrait& type, const float* from, std::byte* to) {
  const std::size_t n = static_cast<std::size_t>(type.block_elements);
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

/// All values matter alike.
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

template <class F>
void for_rows(const Tensor& tensor, const Sizes& sizes, F&& visit) {
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        visit(i1, i2, i3, i1 * tensor.stride(1) + i2 * tensor.stride(2) + i3 * tensor.stride(3));
      }
    }
  }
}

}  // namespace

RefTensor read_tensor(const std::byte* data, const Tensor& tensor, const Sizes& sizes) {
  RefTensor values(sizes);
  if (values.data.empty()) return values;
  const DTypeTrait& type = trait(tensor.dtype);
  std::vector<float> row(static_cast<std::size_t>(sizes[0]));
  for_rows(
      tensor, sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3, std::int64_t offset) {
        if (type.block_elements > 1) {
          type.decode(data + offset, row.data(), sizes[0]);
          for (std::int64_t i = 0; i < sizes[0]; ++i)
            values.at(i, i1, i2, i3) = row[static_cast<std::size_t>(i)];
          return;
        }
        for (std::int64_t i = 0; i < sizes[0]; ++i) {
          values.at(i, i1, i2, i3) = decode_one(tensor.dtype, data + offset + i * tensor.stride(0));
        }
      });
  return values;
}

void write_tensor(const RefTensor& values, const Tensor& tensor, std::byte* data) {
  if (values.data.empty()) return;
  const DTypeTrait& type = trait(tensor.dtype);
  const Sizes& sizes = values.sizes;
  std::vector<float> row(static_cast<std::size_t>(sizes[0]));
  for_rows(
      tensor, sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3, std::int64_t offset) {
        if (type.block_elements > 1) {
          for (std::int64_t i = 0; i < sizes[0]; ++i) {
            row[static_cast<std::size_t>(i)] = static_cast<float>(values.at(i, i1, i2, i3));
          }
          encode_blocks(type, row, data + offset);
          return;
        }
        for (std::int64_t i = 0; i < sizes[0]; ++i) {
          encode_one(tensor.dtype, values.at(i, i1, i2, i3), data + offset + i * tensor.stride(0));
        }
      });
}

namespace {

Tensor contiguous(DType dtype, const Sizes& sizes) {
  return *make_tensor(dtype, {sizes[0], sizes[1], sizes[2], sizes[3]});
}

std::vector<std::byte> bytes_of(const RefTensor& values, DType dtype) {
  const Tensor tensor = contiguous(dtype, values.sizes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
  write_tensor(values, tensor, bytes.data());
  return bytes;
}

}  // namespace

RefTensor rounded(const RefTensor& values, DType dtype) {
  return read_tensor(bytes_of(values, dtype).data(), contiguous(dtype, values.sizes), values.sizes);
}

namespace {

/// Blocks of normally distributed numbers, `size` bytes in all.
std::vector<std::byte> draw_blocks(const DTypeTrait& type, std::int64_t size, std::uint64_t seed) {
  constexpr std::size_t kBlocks = 16;
  static std::mutex mutex;
  static std::map<DType, std::vector<std::byte>> samples;
  std::mt19937_64 random(seed);
  const std::lock_guard lock(mutex);
  std::vector<std::byte>& blocks = samples[type.dtype];
  if (blocks.empty()) {
    std::mt19937_64 fixed(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(kBlocks * static_cast<std::size_t>(type.block_elements));
    for (float& value : values) value = normal(fixed);
    blocks.resize(kBlocks * type.block_bytes);
    encode_blocks(type, values, blocks.data());
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < bytes.size(); at += type.block_bytes) {
    std::memcpy(&bytes[at], &blocks[random() % kBlocks * type.block_bytes], type.block_bytes);
  }
  return bytes;
}

RefTensor fill_values(const CaseSource& source, std::uint64_t seed) {
  RefTensor values(source.sizes);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(source.low, source.high);
  switch (source.fill) {
    case Fill::kNormal:
      for (double& value : values.data) value = normal(random);
      break;
    case Fill::kUniform:
      for (double& value : values.data) value = uniform(random);
      break;
    case Fill::kIndex:
      for (double& value : values.data) value = std::floor(uniform(random));
      break;
    case Fill::kPermutation: {
      std::vector<double> all(static_cast<std::size_t>(source.high - source.low));
      std::iota(all.begin(), all.end(), source.low);
      std::shuffle(all.begin(), all.end(), random);
      for (std::size_t i = 0; i < values.data.size(); ++i) values.data[i] = all.at(i);
      break;
    }
    case Fill::kCausalMask: {
      // Row t sees the last (sizes[0] - sizes[1] + t + 1) columns' worth of the past, and always
      // the first.
      const double minus_infinity = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < values.data.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i) % source.sizes[0];
        const auto row = static_cast<std::int64_t>(i) / source.sizes[0] % source.sizes[1];
        values.data[i] =
            column == 0 || column <= source.sizes[0] - source.sizes[1] + row ? 0 : minus_infinity;
      }
      break;
    }
  }
  return values;
}

}  // namespace

RefTensor make_values(const CaseSource& source, std::uint64_t seed) {
  return rounded(fill_values(source, seed), source.dtype);
}

std::vector<std::byte> make_bytes(const CaseSource& source, std::uint64_t seed) {
  const DTypeTrait& type = trait(source.dtype);
  if (type.block_elements > 32 && source.fill == Fill::kNormal) {
    return draw_blocks(type, byte_span(contiguous(source.dtype, source.sizes)), seed);
  }
  return bytes_of(fill_values(source, seed), source.dtype);
}

double nmse(const RefTensor& a, const RefTensor& b) {
  if (a.sizes != b.sizes) return std::numeric_limits<double>::infinity();
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const auto normal = [](double value) {
      return std::abs(value) < std::numeric_limits<float>::min() ? 0 : value;
    };
    const double x = normal(a.data[i]);
    const double y = normal(b.data[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      norm += std::isfinite(y) ? y * y : 0;
      continue;
    }
    if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
    error += (x - y) * (x - y);
    norm += y * y;
  }
  return norm > 0 ? error / norm : error;
}

}  // namespace shunt::test
