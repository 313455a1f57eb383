// Products of interleaved weights of floats, at every level, against sums in double precision; and
// their panels, which must be those of plain rows.
#include "backends/cpu/simd/float_lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/seen_weights.h"
#include "backends/cpu/simd/int8_lanes.h"

namespace shunt::cpu::simd::float_lanes_test {
namespace {

constexpr float kUntouched = 77;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Rows of k elements, plain and in groups.
struct Rows {
  DType dtype;
  std::int64_t rows, k;
  std::vector<std::byte> plain;
  std::vector<std::byte> groups;
  Floats decoded;

  Rows(DType type, std::int64_t row_count, std::int64_t row_size)
      : dtype(type), rows(row_count), k(row_size) {
    Floats values = random_floats(rows * k, 1);
    const std::size_t bytes = values.size() * trait(type).block_bytes;
    plain.resize(bytes);
    decoded.resize(values.size());
    trait(type).encode(values.data(), plain.data(), rows * k);
    trait(type).decode(plain.data(), decoded.data(), rows * k);
    // The missing rows of the last group are NaN.
    std::vector<std::byte> filled = plain;
    filled.resize(size((rows + kGroupRows - 1) / kGroupRows * kGroupRows * row_bytes()),
                  std::byte{0xff});
    groups.resize(filled.size());
    for (std::int64_t r = 0; r < rows; r += kGroupRows) {
      interleave_rows(type, k, filled.data() + r * row_bytes(), groups.data() + r * row_bytes());
    }
  }
  std::int64_t row_bytes() const { return k * static_cast<std::int64_t>(trait(dtype).block_bytes); }
};

class CpuFloatLanes : public AtLevel {
 protected:
  static std::vector<DType> types() {
    std::vector<DType> found;
    for (const DTypeTrait& type : dtypes()) {
      if (has_float_lanes(test_level(), type.dtype)) found.push_back(type.dtype);
    }
    return found;
  }
};

void expect_products(const Rows& w, std::int64_t columns) {
  const std::int64_t x_stride = w.k + 5;
  const std::int64_t y_stride = w.rows + 2;
  const Floats x = random_floats(columns * x_stride, 2);
  Floats y(size(columns * y_stride), kUntouched);
  multiply_float_lanes(test_level(), w.dtype, w.groups.data(), w.rows, x.data(), x_stride, columns,
                       w.k, y.data(), y_stride);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < y_stride; ++r) {
      const float got = y[size(c * y_stride + r)];
      if (r >= w.rows) {
        EXPECT_EQ(got, kUntouched);
        continue;
      }
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t i = 0; i < w.k; ++i) {
        const double product = double{w.decoded[size(r * w.k + i)]} * x[size(c * x_stride + i)];
        sum += product;
        magnitude += std::fabs(product);
      }
      EXPECT_NEAR(got, sum, 2e-6 * magnitude + 1e-30)
          << trait(w.dtype).name << ", k " << w.k << ", row " << r << ", column " << c << " of "
          << columns;
    }
  }
}

TEST_P(CpuFloatLanes, ExistForF32F16AndBf16) {
  // One lane is called scalar, and so are the vectors of a machine unknown to Highway.
  const std::vector<DType> all = {DType::kF32, DType::kF16, DType::kBF16};
  EXPECT_TRUE(std::ranges::is_permutation(types(), all) ||
              (GetParam() == "scalar" && types().empty()));
}

TEST_P(CpuFloatLanes, MultiplyAnyNumberOfColumns) {
  for (const DType type : types()) {
    const Rows w(type, 32, 38);
    for (std::int64_t columns = 1; columns <= 20; ++columns) expect_products(w, columns);
  }
}

TEST_P(CpuFloatLanes, MultiplyAnyNumberOfRows) {
  for (const DType type : types()) {
    for (const std::int64_t rows : {1, 5, 15, 17, 47}) {
      for (const std::int64_t columns : {1, 4, 8, 13}) {
        expect_products(Rows(type, rows, 34), columns);
      }
    }
  }
}

TEST_P(CpuFloatLanes, MultiplyRowsOfEveryLength) {
  for (const DType type : types()) {
    const std::int64_t step = block_fields(type).elements;
    for (const std::int64_t k : {1, 2, 3, 4, 5, 6, 7, 8, 10, 33, 256, 1030}) {
      if (k % step != 0) continue;
      const Rows w(type, 16, k);
      for (const std::int64_t columns : {1, 2, 3, 4, 5, 8}) expect_products(w, columns);
    }
  }
}

TEST_P(CpuFloatLanes, ProductDoesNotDependOnOtherRows) {
  for (const DType type : types()) {
    const Rows w(type, 48, 130);
    const Floats x = random_floats(w.k * 3, 3);
    Floats together(48 * 3);
    Floats alone(48 * 3);
    multiply_float_lanes(test_level(), type, w.groups.data(), 48, x.data(), w.k, 3, w.k,
                         together.data(), 48);
    for (std::int64_t r = 0; r < 48; r += kGroupRows) {
      multiply_float_lanes(test_level(), type, w.groups.data() + r * w.row_bytes(), kGroupRows,
                           x.data(), w.k, 3, w.k, alone.data() + r, 48);
    }
    EXPECT_EQ(together, alone) << trait(type).name;
  }
}

TEST_P(CpuFloatLanes, PropagateInfinitiesAndNaN) {
  for (const DType type : types()) {
    const Rows w(type, 16, 8);
    Floats x(3 * 8);
    x[3] = kInfinity;  // of column 0, and so on
    x[8 + 3] = -kInfinity;
    x[16 + 3] = std::nanf("");
    Floats y(3 * 16);
    multiply_float_lanes(test_level(), type, w.groups.data(), 16, x.data(), 8, 3, 8, y.data(), 16);
    for (std::int64_t r = 0; r < 16; ++r) {
      const float weight = w.decoded[size(r * 8 + 3)];
      ASSERT_NE(weight, 0);
      EXPECT_EQ(y[size(r)], weight > 0 ? kInfinity : -kInfinity) << trait(type).name;
      EXPECT_EQ(y[size(16 + r)], weight > 0 ? -kInfinity : kInfinity) << trait(type).name;
      EXPECT_TRUE(std::isnan(y[size(32 + r)])) << trait(type).name;
    }
  }
}

/// x is rounded to BF16 before; the rest is exact but for the order of sums.
TEST_P(CpuFloatLanes, PairsOfBf16AreMultipliedWithoutWidening) {
  if (float_word(test_level(), DType::kBF16) != FloatWord::kTwoBF16)
    return;  // they are widened, as seen above
  for (std::int64_t k : {2, 4, 6, 8, 14, 34, 512}) {
    for (std::int64_t rows : {1, 15, 16, 17, 40}) {
      const Rows w(DType::kBF16, rows, k);
      for (std::int64_t columns = 1; columns <= kFloatColumns; ++columns) {
        const Rows x(DType::kBF16, columns, k);
        std::vector<std::byte> packed(size(kFloatPadding + k / 2) * kFloatColumns * 4);
        pack_columns(test_level(), FloatWord::kTwoBF16, x.decoded.data(), k, columns, k,
                     packed.data());
        const std::int64_t stride = rows + 3;
        Floats y(size(columns * stride), kUntouched);
        multiply_lane_words(test_level(), w.groups.data(), rows, k / 2, packed.data(), columns,
                            y.data(), stride);
        for (std::int64_t c = 0; c < columns; ++c) {
          for (std::int64_t r = 0; r < stride; ++r) {
            const float got = y[size(c * stride + r)];
            if (r >= rows) {
              EXPECT_EQ(got, kUntouched);
              continue;
            }
            double sum = 0;
            double magnitude = 0;
            for (std::int64_t i = 0; i < k; ++i) {
              const double product =
                  double{w.decoded[size(r * k + i)]} * x.decoded[size(c * k + i)];
              sum += product;
              magnitude += std::fabs(product);
            }
            EXPECT_NEAR(got, sum, 1e-6 * magnitude)
                << "k " << k << ", " << rows << " rows, " << columns << " columns";
          }
        }
      }
    }
  }
}

TEST_P(CpuFloatLanes, PanelsEqualThoseOfPlainRows) {
  for (const DType type : types()) {
    const std::int64_t elements = word_elements(float_word(test_level(), type));
    const std::int64_t most = kFloatDepth * elements;
    for (const std::int64_t k : {std::int64_t{2}, std::int64_t{34}, std::int64_t{256}, most}) {
      for (const std::int64_t groups : {1, 2}) {
        // Takes the first k elements of longer rows. The data between groups do not belong to them.
        const Rows w(type, groups * kGroupRows, k + 6);
        Aligned expected(kFloatPanelBytes);
        Aligned panel(kFloatPanelBytes);
        pack_rows(test_level(), type, w.plain.data(), w.row_bytes(), w.rows, k, expected.data());
        pack_lanes(test_level(), type, w.groups.data(), kGroupRows * w.row_bytes(), groups, k,
                   panel.data());
        for (std::int64_t word = 0; word < k / elements; ++word) {
          const std::int64_t at = word * kFloatRows * 4;
          EXPECT_EQ(std::memcmp(panel.data() + at, expected.data() + at, size(w.rows * 4)), 0)
              << trait(type).name << ", k " << k << ", " << groups << " groups, word " << word;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuFloatLanes, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::float_lanes_test
