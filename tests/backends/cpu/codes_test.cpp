// Products of plain weights as bytes, at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/seen_weights.h"
#include "backends/cpu/simd/int8.h"

namespace shunt::cpu::simd::codes_test {
namespace {

/// Products of rows with contiguous columns, y[c * rows + r], by the kernels for few columns.
Floats few_products(const Weights& w, const Floats& x) {
  const std::int64_t columns = std::ssize(x) / w.k;
  const std::int64_t bytes = few_bytes(w.k);
  Aligned rounded(columns * bytes);
  for (std::int64_t c = 0; c < columns; ++c) {
    quantize_few(test_level(), x.data() + c * w.k, w.k, int8_need(test_level(), w.type.dtype),
                 rounded.data() + c * bytes);
  }
  Floats y(size(columns * w.rows), 5.0F);
  multiply_few(test_level(), w.type.dtype, w.bytes.data(), w.stride, w.rows, rounded.data(),
               columns, w.k, y.data(), w.rows);
  return y;
}

/// The same by panels; rows that are not there are zero.
Floats panel_products(const Weights& w, const Floats& x) {
  const auto decode = [&](std::int64_t first, std::int64_t depth, std::byte* panel) {
    decode_panel(test_level(), w.type.dtype,
                 w.bytes.data() + size(first / w.type.block_elements) * w.type.block_bytes,
                 w.stride, w.rows, depth, panel);
  };
  const Floats y = products_by_panels(int8_need(test_level(), w.type.dtype), w.k, x, decode);
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    if (i % kInt8Rows < w.rows) continue;
    // Missing rows give zero, or NaN for a column with a non-finite value.
    const float* column = x.data() + i / kInt8Rows * w.k;
    const bool finite = std::all_of(column, column + w.k, [](float v) { return std::isfinite(v); });
    EXPECT_TRUE(finite ? y[size(i)] == 0 : std::isnan(y[size(i)])) << y[size(i)];
  }
  return first_rows(y, w.rows);
}

class CpuCodes : public AtLevel {
 protected:
  static std::vector<const DTypeTrait*> types() { return types_with(has_codes); }
  static bool fits(const DTypeTrait& type, std::int64_t k) { return k % type.block_elements == 0; }
};

TEST_P(CpuCodes, ExistForEveryEncodableQuantizedType) {
  const bool any = must_have_products(GetParam()) || has_codes(test_level(), DType::kQ8_0);
  for (const DTypeTrait& type : dtypes()) {
    const bool stored = type.encode != nullptr || type.encode_weighted != nullptr;
    EXPECT_EQ(has_codes(test_level(), type.dtype), any && type.quantized && stored) << type.name;
  }
}

TEST_P(CpuCodes, FewColumnsMultiplyEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 3, 256);
    for (std::int64_t i = 0; i < w.k; i += 16) expect_weights(w, i, 16, few_products);
  }
}

TEST_P(CpuCodes, PanelsMultiplyEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 5, 256);
    for (std::int64_t i = 0; i < w.k; i += 32) expect_weights(w, i, 32, panel_products);
  }
}

TEST_P(CpuCodes, FewColumnsMayHaveAnyNumberAndLength) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      const Weights w(*type, 3, k);
      for (std::int64_t columns : {1, 2, 3, 5, 8, 16}) {
        for (std::int64_t i : {std::int64_t{0}, k / 2 + 15, k - 1}) {
          expect_weights(w, i, columns, few_products);
        }
      }
    }
  }
}

TEST_P(CpuCodes, PanelsMayHaveAnyNumberOfRowsAndColumns) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      for (std::int64_t rows : {1, 31, 32}) {
        const Weights w(*type, rows, k);
        for (std::int64_t columns : {1, 6, 7}) {
          expect_weights(w, k / 2 + 13, columns, panel_products);
          expect_weights(w, k - 1, columns, panel_products);
        }
      }
    }
  }
}

TEST_P(CpuCodes, HandleNonFiniteAndExtremeColumns) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 12, 256);
    expect_strange_numbers(w, few_products);
    expect_strange_numbers(w, panel_products);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuCodes, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::codes_test
