// Products of plain weights as bytes, at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/seen_weights.h"
#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {
namespace {

/// Products of rows with columns that lie one after the other, y[c * rows + r], by few columns.
Floats few_products(const Weights& w, const Floats& x) {
  const std::int64_t columns = std::ssize(x) / w.k;
  const std::int64_t bytes = few_bytes(w.k);
  Aligned rounded(columns * bytes);
  for (std::int64_t c = 0; c < columns; ++c) {
    quantize_few(x.data() + c * w.k, w.k, int8_need(w.type.dtype), rounded.data() + c * bytes);
  }
  Floats y(size(columns * w.rows), 5.0F);
  multiply_few(w.type.dtype, w.bytes.data(), w.stride, w.rows, rounded.data(), columns, w.k,
               y.data(), w.rows);
  return y;
}

/// The same by panels; rows that are not there are zero.
Floats panel_products(const Weights& w, const Floats& x) {
  const Int8Need need = int8_need(w.type.dtype);
  const std::int64_t columns = std::ssize(x) / w.k;
  const std::int64_t block_bytes = column_block_bytes(need, kManyColumns);
  Floats all(size(columns * kInt8Rows), 5.0F);
  Aligned rounded(w.k / kInt8Block * block_bytes);
  Aligned panel(kInt8PanelBytes);
  for (std::int64_t c = 0; c < columns; c += kManyColumns) {
    const std::int64_t here = std::min(kManyColumns, columns - c);
    quantize_columns(x.data() + c * w.k, w.k, here, kManyColumns, w.k, need, rounded.data());
    for (std::int64_t first = 0; first < w.k; first += kInt8Depth) {
      const std::int64_t depth = std::min(kInt8Depth, w.k - first);
      decode_panel(w.type.dtype,
                   w.bytes.data() + size(first / w.type.block_elements) * w.type.block_bytes,
                   w.stride, w.rows, depth, panel.data());
      multiply_panel(need, panel.data(), depth, rounded.data() + first / kInt8Block * block_bytes,
                     here, all.data() + c * kInt8Rows, kInt8Rows, first > 0);
    }
  }
  Floats y;
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    if (i % kInt8Rows < w.rows) {
      y.push_back(all[size(i)]);
    } else {  // times what is not a number it is not one, either
      const float* column = x.data() + i / kInt8Rows * w.k;
      const bool finite =
          std::all_of(column, column + w.k, [](float v) { return std::isfinite(v); });
      EXPECT_TRUE(finite ? all[size(i)] == 0 : std::isnan(all[size(i)])) << all[size(i)];
    }
  }
  return y;
}

class CpuCodes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(limit_level(GetParam())); }
  void TearDown() override { limit_level(""); }

  static std::vector<const DTypeTrait*> types() {
    std::vector<const DTypeTrait*> found;
    for (const DTypeTrait& type : dtypes()) {
      if (has_codes(type.dtype)) found.push_back(&type);
    }
    return found;
  }
  static bool fits(const DTypeTrait& type, std::int64_t k) { return k % type.block_elements == 0; }
};

TEST_P(CpuCodes, EveryQuantisedTypeThatIsStoredHasCodes) {
  // One lane is called scalar, and so are the vectors of a machine unknown to Highway; and builds
  // with sanitizers leave out sse4. There it is all of them or none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const bool must = GetParam() != "scalar" && GetParam() != "sse4";
#else
  const bool must = GetParam() != "scalar";
#endif
  const bool any = must || has_codes(DType::kQ8_0);
  for (const DTypeTrait& type : dtypes()) {
    const bool stored = type.encode != nullptr || type.encode_weighted != nullptr;
    EXPECT_EQ(has_codes(type.dtype), any && type.quantized && stored) << type.name;
  }
}

TEST_P(CpuCodes, FewColumnsSeeEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 3, 256);
    for (std::int64_t i = 0; i < w.k; i += 16) expect_weights(w, i, 16, few_products);
  }
}

TEST_P(CpuCodes, PanelsShowEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 5, 256);
    for (std::int64_t i = 0; i < w.k; i += 32) expect_weights(w, i, 32, panel_products);
  }
}

TEST_P(CpuCodes, FewColumnsOfAnyNumberAndLength) {
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

TEST_P(CpuCodes, PanelsOfAnyNumberOfRowsAndColumns) {
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

TEST_P(CpuCodes, ColumnsOfStrangeNumbers) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 12, 256);
    expect_strange_numbers(w, few_products);
    expect_strange_numbers(w, panel_products);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuCodes, testing::ValuesIn(level_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace shunt::cpu::simd
