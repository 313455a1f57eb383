// What test cases are made of.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "ops/common/cache_types.h"

namespace shunt {

inline constexpr std::array kFloatTypes = {DType::kF32, DType::kF16, DType::kBF16};
/// What rows, experts and states are numbered in.
inline constexpr std::array kIdTypes = {DType::kI32, DType::kI64};
/// Types of one element a block.
inline constexpr std::array kPlainTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,
                                           DType::kI8,  DType::kI16, DType::kI32,  DType::kI64};
/// What weights may be: all types but F64 and integers.
inline constexpr std::array kWeightTypes = {
    DType::kF32,     DType::kF16,    DType::kBF16,  DType::kQ8_0,    DType::kQ4_0,  DType::kQ4_1,
    DType::kQ5_0,    DType::kQ5_1,   DType::kQ8_1,  DType::kMXFP4,   DType::kQ2_K,  DType::kQ3_K,
    DType::kQ4_K,    DType::kQ5_K,   DType::kQ6_K,  DType::kQ8_K,    DType::kIQ1_S, DType::kIQ1_M,
    DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ4_NL,
    DType::kIQ4_XS,  DType::kTQ1_0,  DType::kTQ2_0};

/// n, or what it takes to make it whole blocks.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t block) {
  return (n + block - 1) / block * block;
}

/// Largest normalised mean square error of ops that compute each element of F32 for itself.
inline constexpr double kElementError = 1e-12;
/// The same of ops that sum many.
inline constexpr double kSumError = 1e-10;

/// Largest normalised mean square error of a result of a float type that is computed in F32, with
/// an error of `computed`, and then rounded once. Each element y is off by at most u |y|, where u
/// is half a unit in the last place of 1: 2^-11 for F16, 2^-8 for BF16. So the mean square is at
/// most u^2 of that of y, and little more with what F32 is off by before. (Elements below 2^-14,
/// the smallest normal F16, are off by more, and must not be all that a case has.)
constexpr double float_error(DType dtype, double computed) {
  const double unit = dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kBF16 ? 0x1p-8 : 0;
  return computed + 1.01 * unit * unit;
}

/// Largest normalised mean square error of `n` sums of products of weights with an x that may be
/// rounded to blocks of 8-bit integers where the weights are quantised: 4e-5 * (1 + 64 / n) then.
/// 4e-5 is what the blocks cost where sums are many: half a step of 1/127 of a block's largest
/// element, squared and divided by 3, relative to the mean square, is 2.4e-5 for 32 normally
/// distributed numbers. Of n sums, errors and results are mean squares of few numbers, and their
/// ratio varies the more the fewer there are: 2.6e-3 for a single sum, which may happen to be small
/// beside its terms, 8e-5 for 64, 4.04e-5 for 6400.
/// Where weights are BF16, x may be rounded to BF16: 6e-6 * (1 + 64 / n). Each element is off by at
/// most 2^-8 of itself (of the power of two below it), evenly spread: the mean square is at most
/// 2^-16 / 3 = 5.1e-6 of that of x, whatever x is, and 2.4e-6 where it is normally distributed.
/// Otherwise kSumError.
double product_error(DType weights, std::int64_t n);

/// A contiguous source: normally distributed, or for integer types integers from -100 to 99.
CaseSource source_of(DType dtype, const Sizes& sizes);
/// A source that has `sizes` once `permute` and then `slice` are done, like source_of() otherwise.
CaseSource seen_as(DType dtype, const Sizes& sizes, const std::array<int, kMaxDims>& permute,
                   const Sizes& slice = {0, 0, 0, 0});
/// An optional source that is not given.
CaseSource not_given();
/// The same source, filled in another way.
CaseSource filled(CaseSource source, Fill fill, double low, double high);

/// A source's sizes as the op sees them.
Sizes sizes_of(const CaseSource& source);
/// A source's tensor as the op sees it, and its offset in the contiguous tensor it is a view of.
Result<Inferred> tensor_of(const CaseSource& source);
/// "F32 [7, 3, 2] permuted [0, 2, 1, 3] sliced [0, 1, 0, 0]": the sizes are those that the op sees.
std::string describe_source(const CaseSource& source);
/// All of them, and what tells the parameters apart.
std::string describe_sources(std::span<const CaseSource> sources, std::string_view extra = "");

/// Shapes and strides that every op of one source must cope with; block types get rows of whole
/// blocks.
std::vector<CaseSource> unary_sources(DType dtype);

/// Largest normalised mean square error of normally distributed numbers that are rounded to a type;
/// 0 for F64 and integers, which references round, too.
double rounding_error(DType dtype);
/// The same where elements of type `from` (integers: small ones) are converted to type `to`: 0
/// where that is a copy, or exact, and always so little that zeros are not right.
double conversion_error(DType from, DType to);

}  // namespace shunt
