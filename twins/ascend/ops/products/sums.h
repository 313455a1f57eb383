// Sums of products as the cube unit makes them: one order, whatever the thread or machine.
#pragma once

#include <cstdint>
#include <vector>

#include "ascend/settings.h"

namespace ascend_twin {

/// result[i][j] is the sum over k of a[i][k] * b[j][k]. ACCUMULATE chooses its numbers: FP32, FP64,
/// or each partial sum rounded to F16.
void multiply(const float* a, const float* b, std::int64_t m, std::int64_t n, std::int64_t k,
              float* result);

/// [rows][columns] to [columns][rows], in each of the matrices.
std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns);

}  // namespace ascend_twin
