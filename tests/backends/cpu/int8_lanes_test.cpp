// Products of interleaved weights as bytes, at every level. The requirements are those of plain
// weights (codes_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/seen_weights.h"
#include "backends/cpu/simd/int8_lanes.h"

namespace shunt::cpu::simd::int8_lanes_test {
namespace {

/// The same rows in groups, which have nothing between them. The missing rows of the last group
/// have all bits set.
struct Groups {
  std::int64_t group_bytes = 0;
  Aligned bytes;

  explicit Groups(const Weights& w)
      : group_bytes(kGroupRows * interleaved_row_bytes(w.type.dtype, w.k)),
        bytes(groups_of(w) * group_bytes) {
    const std::size_t row_bytes = size(group_bytes / kGroupRows);
    for (std::int64_t g = 0; g < groups_of(w); ++g) {
      std::vector<std::byte> rows(size(group_bytes), std::byte{0xff});
      const std::int64_t first = g * kGroupRows;
      for (std::int64_t r = first; r < std::min(first + kGroupRows, w.rows); ++r) {
        std::memcpy(rows.data() + size(r - first) * row_bytes, w.bytes.data() + r * w.stride,
                    row_bytes);
      }
      interleave_rows(w.type.dtype, w.k, rows.data(), bytes.data() + g * group_bytes);
    }
  }
  static std::int64_t groups_of(const Weights& w) { return (w.rows + kGroupRows - 1) / kGroupRows; }
};

/// By few columns, as many at once as can be.
Floats lane_products(const Weights& w, const Floats& x) {
  Groups groups(w);
  const Int8Need need = lanes_need(test_level(), w.type.dtype);
  const std::int64_t columns = std::ssize(x) / w.k;
  Floats y(size(columns * w.rows), 5.0F);
  for (std::int64_t c = 0; c < columns; c += most_lane_columns(test_level())) {
    const std::int64_t here = std::min(most_lane_columns(test_level()), columns - c);
    Aligned rounded(w.k / kInt8Block * column_block_bytes(need, here));
    quantize_columns(test_level(), x.data() + c * w.k, w.k, here, here, w.k, need, rounded.data());
    multiply_lanes(test_level(), w.type.dtype, groups.bytes.data(), w.rows, rounded.data(), here,
                   w.k, y.data() + c * w.rows, w.rows);
  }
  return y;
}

/// By panels.
Floats lane_panel_products(const Weights& w, const Floats& x) {
  Groups groups(w);
  const auto decode = [&](std::int64_t first, std::int64_t depth, std::byte* panel) {
    decode_lanes(test_level(), w.type.dtype,
                 groups.bytes.data() + kGroupRows * interleaved_row_bytes(w.type.dtype, first),
                 groups.group_bytes, Groups::groups_of(w), depth, panel);
  };
  return first_rows(products_by_panels(lanes_need(test_level(), w.type.dtype), w.k, x, decode),
                    w.rows);
}

class CpuInt8Lanes : public AtLevel {
 protected:
  static std::vector<const DTypeTrait*> types() { return types_with(has_lanes); }
  static bool fits(const DTypeTrait& type, std::int64_t k) { return k % type.block_elements == 0; }
};

TEST_P(CpuInt8Lanes, ExistForEveryQuantizedTypeThatCanBeInterleaved) {
  const bool any = must_have_products(GetParam()) || has_lanes(test_level(), DType::kQ8_0);
  for (const DTypeTrait& type : dtypes()) {
    const bool fields = !block_fields(type.dtype).fields.empty();
    EXPECT_EQ(has_lanes(test_level(), type.dtype), any && type.quantized && fields) << type.name;
    if (has_lanes(test_level(), type.dtype)) {
      EXPECT_TRUE(has_codes(test_level(), type.dtype))
          << type.name;  // panels are multiplied by the same code
      EXPECT_EQ(lanes_need(test_level(), type.dtype).order, CodeOrder::kNatural) << type.name;
    }
  }
  EXPECT_GE(most_lane_columns(test_level()), 1);
}

TEST_P(CpuInt8Lanes, FewColumnsMultiplyEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 16, 256);
    for (std::int64_t i = 0; i < w.k; i += 16) expect_weights(w, i, 16, lane_products);
  }
}

TEST_P(CpuInt8Lanes, PanelsMultiplyEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 32, 256);
    for (std::int64_t i = 0; i < w.k; i += 32) expect_weights(w, i, 32, lane_panel_products);
  }
}

TEST_P(CpuInt8Lanes, FewColumnsMayHaveAnyNumberAndLength) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      const Weights w(*type, 48, k);
      for (std::int64_t columns = 1; columns <= most_lane_columns(test_level()) + 1; ++columns) {
        expect_weights(w, k / 2 + 15, columns, lane_products);
        expect_weights(w, k - 1, columns, lane_products);
      }
    }
  }
}

TEST_P(CpuInt8Lanes, MultiplyAnyNumberOfRows) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t rows : {1, 5, 15, 17, 47}) {
      const Weights w(*type, rows, 256);
      for (std::int64_t columns :
           {std::int64_t{1}, std::int64_t{3}, most_lane_columns(test_level())}) {
        expect_weights(w, 100, columns, lane_products);
      }
    }
  }
}

TEST_P(CpuInt8Lanes, PanelsMayHaveOneOrTwoGroupsAndAnyNumberOfColumns) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      for (std::int64_t rows : {16, 21, 32}) {
        const Weights w(*type, rows, k);
        for (std::int64_t columns = 1; columns <= kManyColumns + 1; ++columns) {
          expect_weights(w, k / 2 + 13, columns, lane_panel_products);
          expect_weights(w, k - 1, columns, lane_panel_products);
        }
      }
    }
  }
}

TEST_P(CpuInt8Lanes, HandleNonFiniteAndExtremeColumns) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 16, 256);
    expect_strange_numbers(w, lane_products);
    expect_strange_numbers(w, lane_panel_products);
  }
}

TEST_P(CpuInt8Lanes, ProductDoesNotDependOnOtherColumns) {
  constexpr std::int64_t kLength = 512;
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 16, kLength);
    const std::int64_t most = most_lane_columns(test_level());
    const Floats x = random_floats(most * kLength, 3);
    const Floats together = lane_products(w, x);
    for (std::int64_t c = 0; c < most; ++c) {
      const Floats alone =
          lane_products(w, Floats(x.begin() + c * kLength, x.begin() + (c + 1) * kLength));
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + c * w.rows))
          << type->name << ", column " << c;
    }
  }
}

/// Nothing is written outside of the existing rows and columns.
TEST_P(CpuInt8Lanes, WriteOnlyTheResult) {
  constexpr float kUntouched = 77;
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 27, 256);
    Groups groups(w);
    const Int8Need need = lanes_need(test_level(), type->dtype);
    const std::int64_t columns = most_lane_columns(test_level());
    const Floats x(size(columns * w.k), 1.0F);
    Aligned rounded(w.k / kInt8Block * column_block_bytes(need, columns));
    quantize_columns(test_level(), x.data(), w.k, columns, columns, w.k, need, rounded.data());
    const std::int64_t stride = w.rows + 3;
    Floats y(size(columns * stride), kUntouched);
    multiply_lanes(test_level(), type->dtype, groups.bytes.data(), w.rows, rounded.data(), columns,
                   w.k, y.data(), stride);
    for (std::int64_t i = 0; i < std::ssize(y); ++i) {
      EXPECT_EQ(y[size(i)] == kUntouched, i % stride >= w.rows) << type->name << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuInt8Lanes, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::int8_lanes_test
