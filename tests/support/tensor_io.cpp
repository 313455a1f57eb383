#include "support/tensor_io.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace shunt::test {

namespace {

/// Integers exactly; everything else by the type's trait.
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
  } else {
    const auto single = static_cast<float>(value);
    trait(dtype).encode(&single, to, 1);
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
          type.encode(row.data(), data + offset, sizes[0]);
          return;
        }
        for (std::int64_t i = 0; i < sizes[0]; ++i) {
          encode_one(tensor.dtype, values.at(i, i1, i2, i3), data + offset + i * tensor.stride(0));
        }
      });
}

RefTensor rounded(const RefTensor& values, DType dtype) {
  const auto tensor =
      make_tensor(dtype, {values.sizes[0], values.sizes[1], values.sizes[2], values.sizes[3]});
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(*tensor)));
  write_tensor(values, *tensor, bytes.data());
  return read_tensor(bytes.data(), *tensor, values.sizes);
}

RefTensor make_values(const CaseSource& source, std::uint64_t seed) {
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
  return rounded(values, source.dtype);
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
