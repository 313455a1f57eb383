// Products of weight rows with columns, at every level, against sums in double precision. A sum
// doesn't depend on the others that are taken with it.
#include "backends/cpu/simd/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"

namespace shunt::cpu::simd::simd_matmul_test {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

/// The sum of k products, and of their magnitudes, by which its error is bounded.
struct Sum {
  double value = 0;
  double magnitude = 0;
};

Sum exact_dot(const float* a, const float* b, std::int64_t k, std::int64_t b_step = 1) {
  Sum sum;
  for (std::int64_t i = 0; i < k; ++i) {
    sum.value += double{a[i]} * b[i * b_step];
    sum.magnitude += std::fabs(double{a[i]} * b[i * b_step]);
  }
  return sum;
}

void expect_close(float got, const Sum& sum) {
  EXPECT_NEAR(got, sum.value, 2e-6 * sum.magnitude + 1e-30);
}

class CpuSimdMatmul : public AtLevel {};

/// Rows of a type, the gap between them filled with bytes that would show in a sum.
struct Weights {
  DType dtype;
  std::int64_t rows;
  std::int64_t k;
  std::int64_t stride;
  std::vector<std::byte> bytes;
  Floats decoded;  ///< [rows][k]

  Weights(DType type, std::int64_t row_count, std::int64_t row_size)
      : dtype(type), rows(row_count), k(row_size) {
    const DTypeTrait& t = trait(dtype);
    const auto row_bytes = static_cast<std::size_t>(k / t.block_elements) * t.block_bytes;
    stride = static_cast<std::int64_t>(row_bytes + 4 * t.block_bytes);
    bytes.assign(static_cast<std::size_t>(rows * stride), std::byte{0x7f});
    decoded.resize(static_cast<std::size_t>(rows * k));
    const Floats values = random_floats(rows * k, 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      t.encode(values.data() + r * k, bytes.data() + r * stride, k);
      t.decode(bytes.data() + r * stride, decoded.data() + r * k, k);
    }
  }
};

TEST_P(CpuSimdMatmul, DotsRowsOfEveryTypeAndLength) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                      DType::kQ5_1, DType::kTQ2_0}) {
    for (std::int64_t k :
         {0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 47, 64, 70, 96, 1024, 1280, 4096}) {
      if (k % trait(dtype).block_elements != 0) continue;
      const Weights w(dtype, 7, k);
      for (std::int64_t columns = 0; columns <= 9; ++columns) {
        const std::int64_t x_stride = k + 3;
        const Floats x = random_floats(x_stride * 9, 2);
        Floats y(9 * 10, 5.0F);
        dot_rows(test_level(), dtype, w.bytes.data(), w.stride, w.rows, x.data(), x_stride, columns,
                 k, y.data(), 10);
        for (std::int64_t c = 0; c < 9; ++c) {
          for (std::int64_t r = 0; r < 10; ++r) {
            const float got = y[static_cast<std::size_t>(c * 10 + r)];
            if (c >= columns || r >= w.rows) {
              EXPECT_EQ(got, 5.0F);
            } else {
              expect_close(got, exact_dot(w.decoded.data() + r * k, x.data() + c * x_stride, k));
            }
          }
        }
      }
    }
  }
}

TEST_P(CpuSimdMatmul, DotDoesNotDependOnOtherRows) {
  const std::int64_t k = 320;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    const Weights w(dtype, 9, k);
    const Floats x = random_floats(k * 2, 3);
    Floats together(9 * 2);
    Floats alone(9 * 2);
    dot_rows(test_level(), dtype, w.bytes.data(), w.stride, 9, x.data(), k, 2, k, together.data(),
             9);
    for (std::int64_t r = 0; r < 9; ++r) {
      dot_rows(test_level(), dtype, w.bytes.data() + r * w.stride, w.stride, 1, x.data(), k, 2, k,
               alone.data() + r, 9);
    }
    EXPECT_EQ(together, alone);
  }
}

TEST_P(CpuSimdMatmul, MultipliesPanels) {
  for (std::int64_t k : {0, 16, 32, 128, 512}) {
    for (std::int64_t rows : {1, 2, 3, 4, 5, 8, 11}) {
      for (std::int64_t columns = 0; columns <= 14; ++columns) {
        const std::int64_t stride = k + 16;
        const Floats w = random_floats(12 * stride, 4);
        const Floats x = random_floats(14 * stride, 5);
        Floats y(14 * 12, 5.0F);
        multiply_panel(test_level(), w.data(), stride, rows, x.data(), stride, columns, k, y.data(),
                       12, false);
        Floats twice = y;
        multiply_panel(test_level(), w.data(), stride, rows, x.data(), stride, columns, k,
                       twice.data(), 12, true);
        for (std::int64_t c = 0; c < 14; ++c) {
          for (std::int64_t r = 0; r < 12; ++r) {
            const auto at = static_cast<std::size_t>(c * 12 + r);
            if (c >= columns || r >= rows) {
              EXPECT_EQ(twice[at], 5.0F);
            } else {
              expect_close(y[at], exact_dot(w.data() + r * stride, x.data() + c * stride, k));
              EXPECT_EQ(twice[at], 2 * y[at]);
            }
          }
        }
      }
    }
  }
}

TEST_P(CpuSimdMatmul, ProductDoesNotDependOnOtherColumns) {
  const std::int64_t k = 144;
  const Floats w = random_floats(8 * k, 6);
  const Floats x = random_floats(13 * k, 7);
  Floats together(13 * 8);
  Floats alone(13 * 8);
  multiply_panel(test_level(), w.data(), k, 8, x.data(), k, 13, k, together.data(), 8, false);
  for (std::int64_t c = 0; c < 13; ++c) {
    multiply_panel(test_level(), w.data(), k, 5, x.data() + c * k, k, 1, k, alone.data() + c * 8, 8,
                   false);
    multiply_panel(test_level(), w.data() + 4 * k, k, 4, x.data() + c * k, k, 1, k,
                   alone.data() + c * 8 + 4, 8, false);
  }
  EXPECT_EQ(together, alone);
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdMatmul, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_matmul_test
