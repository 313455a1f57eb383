// Shared helpers of tests of products of bytes: random weights that are seen apart from each other.
// A column that has one element of 127 has a scale of 1. Its product is 127 times the weight that
// the type's trait decodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/simd/int8_lanes.h"
#include "support/sanitized.h"

namespace shunt::cpu::simd {

using Floats = std::vector<float>;
inline std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

inline Floats random_floats(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(size(n));
  for (float& value : values) value = normal(random);
  return values;
}

/// Exactly as many bytes as products need, so that a sanitizer detects reads beyond them.
class Aligned {
 public:
  explicit Aligned(std::int64_t bytes)
      : data_(static_cast<std::byte*>(::operator new(size(bytes), kAlign))) {}
  std::byte* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlign); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// The types that have products of bytes of a kind.
inline std::vector<const DTypeTrait*> types_with(bool (*products)(Level, DType)) {
  std::vector<const DTypeTrait*> found;
  for (const DTypeTrait& type : dtypes()) {
    if (products(test_level(), type.dtype)) found.push_back(&type);
  }
  return found;
}
/// Whether all types that can have such products do at a level: else it is all or none. One lane is
/// called scalar, and so are the vectors of a machine unknown to Highway; and builds with
/// sanitizers leave out sse4.
inline bool must_have_products(const std::string& level) {
  return level != "scalar" && !(test::kSanitized && level == "sse4");
}

/// Whether 127 times each weight of a block is a number, with room for the units of codes.
inline bool is_usable(const DTypeTrait& type, const std::byte* block) {
  Floats values(size(type.block_elements));
  type.decode(block, values.data(), type.block_elements);
  return std::ranges::all_of(values, [](float v) { return std::fabs(v) < FLT_MAX / 8192; });
}

/// Rows of random blocks. Every other one has as many bytes of all bits, or of none, as can be, so
/// that scales, minimums and indices are at their ends.
struct Weights {
  const DTypeTrait& type;
  std::int64_t rows, k, stride;
  std::vector<std::byte> bytes;
  Floats decoded;  ///< [rows][k]

  Weights(const DTypeTrait& t, std::int64_t row_count, std::int64_t row_size)
      : type(t), rows(row_count), k(row_size) {
    std::mt19937 random(static_cast<unsigned>(t.dtype) * 7 + static_cast<unsigned>(k));
    const std::int64_t blocks = k / t.block_elements;
    const auto block_bytes = static_cast<std::int64_t>(t.block_bytes);
    stride = (blocks + 1) * block_bytes;
    bytes.assign(size(stride * (rows - 1) + blocks * block_bytes), std::byte{0x5a});
    decoded.resize(size(rows * k));
    for (std::int64_t r = 0; r < rows; ++r) {
      std::byte* row = bytes.data() + r * stride;
      for (std::int64_t b = 0; b < blocks; ++b) fill(row + b * block_bytes, (r + b) % 4, random);
      t.decode(row, decoded.data() + r * k, k);
    }
  }
  float at(std::int64_t r, std::int64_t i) const { return decoded[size(r * k + i)]; }
  double largest(std::int64_t r, std::int64_t first, std::int64_t count) const {
    double found = 0;
    for (std::int64_t i = first; i < first + count; ++i) {
      found = std::max(found, std::fabs(double{at(r, i)}));
    }
    return found;
  }
  /// How far from exact a product with 127 or less may be: types with minimums add two parts.
  double tolerance(std::int64_t r, std::int64_t i) const {
    if (std::max(int8_need(test_level(), type.dtype).mins,
                 lanes_need(test_level(), type.dtype).mins) == 0)
      return 2.5e-7 * std::fabs(127.0 * at(r, i)) + 1e-43;
    const std::int64_t first = i / type.block_elements * type.block_elements;
    return 1e-6 * 127 * largest(r, first, type.block_elements);
  }

 private:
  void fill(std::byte* block, std::int64_t how, std::mt19937& random) const {
    do {
      for (std::size_t i = 0; i < type.block_bytes; ++i)
        block[i] = static_cast<std::byte>(random());
    } while (!is_usable(type, block));
    if (how != 1 && how != 3) return;
    for (std::size_t i = 0; i < type.block_bytes; ++i) {
      const std::byte before = std::exchange(block[i], how == 1 ? std::byte{0xff} : std::byte{0});
      if (!is_usable(type, block)) block[i] = before;
    }
  }
};

/// Of rows with contiguous columns, y[c * rows + r].
using Products = Floats (*)(const Weights&, const Floats&);

/// Rows of a panel with contiguous columns, y[c * kInt8Rows + r]. decode(first, depth, panel) makes
/// the panel of `depth` elements from `first` on. The parts that it leaves out are not a number.
template <class Decode>
Floats products_by_panels(Int8Need need, std::int64_t k, const Floats& x, const Decode& decode) {
  const std::int64_t columns = std::ssize(x) / k;
  const std::int64_t block_bytes = column_block_bytes(need, kManyColumns);
  Floats y(size(columns * kInt8Rows), 5.0F);
  Aligned rounded(k / kInt8Block * block_bytes);
  Aligned panel(kInt8PanelBytes);
  std::fill_n(panel.data(), kInt8PanelBytes, std::byte{0xff});
  for (std::int64_t c = 0; c < columns; c += kManyColumns) {
    const std::int64_t here = std::min(kManyColumns, columns - c);
    quantize_columns(test_level(), x.data() + c * k, k, here, kManyColumns, k, need,
                     rounded.data());
    for (std::int64_t first = 0; first < k; first += kInt8Depth) {
      const std::int64_t depth = std::min(kInt8Depth, k - first);
      decode(first, depth, panel.data());
      multiply_panel(test_level(), need, panel.data(), depth,
                     rounded.data() + first / kInt8Block * block_bytes, here,
                     y.data() + c * kInt8Rows, kInt8Rows, first > 0);
    }
  }
  return y;
}
/// Those of the first `rows` rows.
inline Floats first_rows(const Floats& y, std::int64_t rows) {
  Floats first;
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    if (i % kInt8Rows < rows) first.push_back(y[size(i)]);
  }
  return first;
}

/// Columns with a 127 at `element`, `element` + 1, ... each.
inline void expect_weights(const Weights& w, std::int64_t element, std::int64_t columns,
                           Products products) {
  Floats x(size(columns * w.k));
  const auto place = [&](std::int64_t c) { return (element + c) % w.k; };
  for (std::int64_t c = 0; c < columns; ++c) x[size(c * w.k + place(c))] = 127;
  const Floats y = products(w, x);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < w.rows; ++r) {
      ASSERT_NEAR(y[size(c * w.rows + r)], 127.0 * w.at(r, place(c)), w.tolerance(r, place(c)))
          << w.type.name << ", " << w.rows << " rows, k " << w.k << ", " << columns
          << " columns, row " << r << ", element " << place(c);
    }
  }
}

/// Products of columns that have one element that is no number, or a very small or large one.
inline void expect_strange_numbers(const Weights& w, Products products) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats strange = {std::nanf(""), infinity, -infinity, 1e-40F, -1e-36F, 1e38F, 127.0F};
  const auto columns = std::ssize(strange);
  const std::int64_t element = 77;
  Floats x(size(columns * w.k));
  for (std::int64_t c = 0; c < columns; ++c) x[size(c * w.k + element)] = strange[size(c)];
  const Floats y = products(w, x);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < w.rows; ++r) {
      const double got = y[size(c * w.rows + r)];
      const double number = strange[size(c)];
      const auto where = ::testing::Message() << w.type.name << ", row " << r << ", " << number;
      if (!std::isfinite(number)) {
        EXPECT_TRUE(std::isnan(got)) << where;
        continue;
      }
      const double exact = number * w.at(r, element);
      // Where other elements of the row would be infinite, this one may be, too.
      if (std::fabs(number) * w.largest(r, 0, w.k) > 1e37) continue;
      // Below 1e-36 steps don't get smaller; and scales near it have few digits.
      const double step = std::max(std::fabs(number), 1e-36) / 127;
      const double weight = std::fabs(double{w.at(r, element)});
      const double rounding = std::fabs(number) < 1e-36 ? step / 2 * weight : 0;
      const double digits = 128 * 127 * std::numeric_limits<float>::denorm_min();
      EXPECT_NEAR(got, exact, rounding + 3 * w.tolerance(r, element) * step + digits) << where;
    }
  }
}

}  // namespace shunt::cpu::simd
