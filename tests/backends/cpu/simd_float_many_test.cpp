// Products of weights of floats with many columns, at every level, against sums in double
// precision. The tests also check x where it is rounded to BF16.
#include "backends/cpu/simd/float_many.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "base/aligned_bytes.h"

namespace shunt::cpu::simd::simd_float_many_test {
namespace {

using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 77;

Floats random_floats(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

/// Rows of a type; the bytes between them would show in a sum.
struct Weights {
  DType dtype;
  std::int64_t rows, k, stride;
  std::vector<std::byte> bytes;

  Weights(DType type, std::int64_t row_count, std::int64_t row_size, const Floats& values)
      : dtype(type), rows(row_count), k(row_size) {
    const auto width = static_cast<std::int64_t>(trait(type).block_bytes);
    stride = (k + 3) * width;
    bytes.assign(static_cast<std::size_t>(rows * stride), std::byte{0x7f});
    for (std::int64_t r = 0; r < rows; ++r) {
      trait(type).encode(values.data() + r * k, bytes.data() + r * stride, k);
    }
  }
  Floats row(std::int64_t r) const {
    Floats decoded(static_cast<std::size_t>(k));
    trait(dtype).decode(bytes.data() + r * stride, decoded.data(), k);
    return decoded;
  }
};

/// The values of x in the product.
Floats as_multiplied(FloatWord word, const float* x, std::int64_t k) {
  Floats column(x, x + k);
  if (word == FloatWord::kF32) return column;
  std::vector<std::byte> rounded(static_cast<std::size_t>(2 * k));
  trait(DType::kBF16).encode(column.data(), rounded.data(), k);
  trait(DType::kBF16).decode(rounded.data(), column.data(), k);
  return column;
}

/// y[rows, columns] with `y_stride`, from `before`; x starts x_stride apart.
Floats multiply(const Weights& w, const Floats& x, std::int64_t x_stride, std::int64_t columns,
                std::int64_t y_stride, Floats before, bool add) {
  const FloatWord word = float_word(test_level(), w.dtype);
  const std::int64_t words = (w.k + word_elements(word) - 1) / word_elements(word);
  const AlignedBytes panel = allocate_aligned(kFloatPanelBytes, 64);
  const AlignedBytes packed = allocate_aligned(kFloatDepth * kFloatColumns * 4, 64);
  pack_rows(test_level(), w.dtype, w.bytes.data(), w.stride, w.rows, w.k, panel.get());
  pack_columns(test_level(), word, x.data(), x_stride, columns, w.k, packed.get());
  multiply_packed(test_level(), word, panel.get(), w.rows, words, packed.get(), columns,
                  before.data(), y_stride, add);
  return before;
}

class CpuSimdFloatMany : public AtLevel {};

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

void expect_products(const Weights& w, std::int64_t columns) {
  const std::int64_t x_stride = w.k + 5;
  const std::int64_t y_stride = w.rows + 2;
  const Floats x = random_floats(columns * x_stride, 2);
  for (const bool add : {false, true}) {
    const Floats before(static_cast<std::size_t>(columns * y_stride), kUntouched);
    const Floats y = multiply(w, x, x_stride, columns, y_stride, before, add);
    for (std::int64_t c = 0; c < columns; ++c) {
      const Floats column =
          as_multiplied(float_word(test_level(), w.dtype), x.data() + c * x_stride, w.k);
      for (std::int64_t r = 0; r < y_stride; ++r) {
        const float got = y[static_cast<std::size_t>(c * y_stride + r)];
        if (r >= w.rows) {
          EXPECT_EQ(got, kUntouched);
          continue;
        }
        double sum = add ? double{kUntouched} : 0;
        double magnitude = sum;
        const Floats row = w.row(r);
        for (std::size_t i = 0; i < row.size(); ++i) {
          sum += double{row[i]} * column[i];
          magnitude += std::fabs(double{row[i]} * column[i]);
        }
        EXPECT_NEAR(got, sum, 4e-6 * magnitude)
            << trait(w.dtype).name << ", k " << w.k << ", row " << r << ", column " << c;
      }
    }
  }
}

TEST_P(CpuSimdFloatMany, MultipliesEveryNumberOfRowsAndColumns) {
  for (const DType type : kTypes) {
    for (const std::int64_t rows : {1, 7, 16, 21, 32}) {
      const Weights w(type, rows, 37, random_floats(rows * 37, 1));
      for (std::int64_t columns = 1; columns <= kFloatColumns; ++columns) {
        expect_products(w, columns);
      }
    }
  }
}

TEST_P(CpuSimdFloatMany, MultipliesRowsOfEveryLength) {
  for (const DType type : kTypes) {
    const std::int64_t most = kFloatDepth * word_elements(float_word(test_level(), type));
    for (const std::int64_t k :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{31}, std::int64_t{33},
          std::int64_t{64}, std::int64_t{257}, std::int64_t{511}, most - 1, most}) {
      expect_products(Weights(type, 9, k, random_floats(9 * k, 1)), 5);
    }
  }
}

TEST_P(CpuSimdFloatMany, ProductDoesNotDependOnOtherRowsOrColumns) {
  constexpr std::int64_t kLength = 145;
  for (const DType type : kTypes) {
    const Weights w(type, 32, kLength, random_floats(32 * kLength, 3));
    const Floats x = random_floats(kFloatColumns * kLength, 4);
    const Floats y = multiply(w, x, kLength, kFloatColumns, 32, Floats(32 * kFloatColumns), false);
    Weights one = w;
    one.rows = 1;
    one.bytes.erase(one.bytes.begin(), one.bytes.begin() + 17 * w.stride);
    for (std::int64_t c = 0; c < kFloatColumns; ++c) {
      const Floats column(x.begin() + c * kLength, x.begin() + (c + 1) * kLength);
      const Floats alone = multiply(one, column, kLength, 1, 1, Floats(1), false);
      EXPECT_EQ(alone[0], y[static_cast<std::size_t>(c * 32 + 17)]) << trait(type).name;
    }
  }
}

/// The product of 1 and x.
float through_bf16(float x) {
  const Weights one(DType::kBF16, 1, 1, {1});
  return multiply(one, {x}, 1, 1, 1, {0}, false)[0];
}

TEST_P(CpuSimdFloatMany, RoundsXToNearestBf16OnlyForBf16Pairs) {
  const bool rounds = float_word(test_level(), DType::kBF16) == FloatWord::kTwoBF16;
  struct Rounding {
    float x, rounded;
  };
  constexpr float kLargest = 0x1.fep127F;
  for (const auto& [x, rounded] : std::initializer_list<Rounding>{
           {1, 1},
           {-1.5F, -1.5F},
           {1 + 0x1p-8F, 1},  // of two equally near ones the even one
           {1 + 0x1.8p-7F, 1 + 0x1p-6F},
           {1 + 0x1.02p-8F, 1 + 0x1p-7F},
           {-1 - 0x1.02p-8F, -1 - 0x1p-7F},
           {std::numeric_limits<float>::max(), kLargest},  // stays finite
           {-std::numeric_limits<float>::max(), -kLargest},
           {kInfinity, kInfinity},
           {-kInfinity, -kInfinity},
       }) {
    EXPECT_EQ(through_bf16(x), rounds ? rounded : x) << x;
  }
  // The bits that make it a NaN may be in the lower half only.
  for (const std::uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xff800001U, 0x7fffffffU}) {
    EXPECT_TRUE(std::isnan(through_bf16(std::bit_cast<float>(bits)))) << bits;
  }
}

TEST_P(CpuSimdFloatMany, UsesF32WordsForF32AndF16) {
  EXPECT_EQ(float_word(test_level(), DType::kF32), FloatWord::kF32);
  EXPECT_EQ(float_word(test_level(), DType::kF16), FloatWord::kF32);
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdFloatMany, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_float_many_test
