#include "conformance/case_errors.h"

#include <algorithm>
#include <iterator>

namespace shunt {

double product_error(DType weights, std::int64_t n) {
  const double many = trait(weights).quantized ? 4e-5 : weights == DType::kBF16 ? 6e-6 : 0;
  if (many == 0 || n == 0) return kSumError;
  return many * (1 + 64 / static_cast<double>(n));
}

double rounding_error(DType dtype) {
  struct Row {
    DType dtype;
    double error;
  };
  // Floats: half a unit of n bits is (2^-n)^2 / 3. Block types: somewhat above the errors of their
  // encoders (docs/reference/formats.md).
  constexpr Row kRows[] = {{DType::kF32, 0x1p-48}, {DType::kF16, 1e-7},    {DType::kBF16, 1e-5},
                           {DType::kQ8_0, 5e-5},   {DType::kQ4_0, 1.2e-2}, {DType::kQ4_1, 1e-2},
                           {DType::kQ5_0, 3.5e-3}, {DType::kQ5_1, 2.8e-3}, {DType::kMXFP4, 2e-2},
                           {DType::kQ2_K, 1e-1},   {DType::kQ3_K, 3e-2},   {DType::kQ4_K, 7e-3},
                           {DType::kQ5_K, 2e-3},   {DType::kQ6_K, 5e-4},   {DType::kIQ3_S, 3e-2},
                           {DType::kIQ4_NL, 8e-3}, {DType::kIQ4_XS, 8e-3}, {DType::kIQ3_XXS, 5e-2},
                           {DType::kTQ1_0, 0.8},   {DType::kTQ2_0, 0.8}};
  const auto* row = std::ranges::find(kRows, dtype, &Row::dtype);
  return row != std::end(kRows) ? row->error : 0;
}

double conversion_error(DType from, DType to) {
  if (from == to || (trait(from).integer && !trait(to).quantized)) return 0;
  // The few levels of a block type can be at the worst places for another, as 0 is for Q4_1 between
  // -d and d. That all bits are right is a test of its own (conformance/conversions_test).
  constexpr double kMost = 0.8;  // that of zeros is 1
  const bool blocks = trait(from).quantized && trait(to).quantized;
  return std::min(rounding_error(to) * (blocks ? 4 : 1), kMost);
}

}  // namespace shunt
