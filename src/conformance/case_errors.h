// The largest errors that test cases allow.
#pragma once

#include <cstdint>

#include "shunt/tensor.h"

namespace shunt {

/// Largest normalised mean square error of element-wise F32 results.
inline constexpr double kElementError = 1e-12;
/// The same for sums.
inline constexpr double kSumError = 1e-10;

/// Largest normalised mean square error of a result of a float type that is computed in F32, with
/// an error of `computed`, and then rounded once. Each element y is off by at most u |y|, where u
/// is half a unit in the last place of 1: 2^-11 for F16, 2^-8 for BF16. So the mean square is at
/// most u^2 of that of y, and little more with the error in F32 before. (Elements below 2^-14, the
/// smallest normal F16, are off by more, and must not be all that a case has.)
constexpr double float_error(DType dtype, double computed) {
  const double unit = dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kBF16 ? 0x1p-8 : 0;
  return computed + 1.01 * unit * unit;
}

/// Largest normalised mean square error of `n` sums of products of weights with an x that may be
/// rounded to blocks of 8-bit integers where the weights are quantised: `4e-5 * (1 + 64 / n)` then.
/// 4e-5 is the cost of the blocks where sums are many. Half a step of 1/127 of a block's largest
/// element, squared and divided by 3, relative to the mean square, is 2.4e-5 for 32 normally
/// distributed numbers. Of n sums, errors and results are mean squares of few numbers, and their
/// ratio varies the more the fewer there are. It is 2.6e-3 for a single sum, which may be small
/// relative to its terms, 8e-5 for 64, 4.04e-5 for 6400. Where weights are BF16, x may be rounded
/// to BF16: `6e-6 * (1 + 64 / n)`. Each element is off by at most 2^-8 of itself (of the power of
/// two below it), evenly spread. So the mean square is at most `2^-16 / 3 = 5.1e-6` of that of x,
/// whatever x is. It is 2.4e-6 where x is normally distributed. Otherwise kSumError.
double product_error(DType weights, std::int64_t n);

/// Largest normalised mean square error of normally distributed numbers that are rounded to a type;
/// 0 for F64 and integers, which references round, too.
double rounding_error(DType dtype);
/// The same where elements of type `from` (integers: small ones) are converted to type `to`: 0
/// where that is a copy, or exact, and always so little that zeros are not right.
double conversion_error(DType from, DType to);

}  // namespace shunt
