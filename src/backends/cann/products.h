// Products of matrices with the vendor's operators, as several ops need them.
#pragma once

#include "backends/cann/blocks.h"
#include "backends/cann/weight_parts.h"

namespace shunt::cann {

/// The numbers in which a product is computed: both factors come in `type`.
struct ProductNumbers {
  DataType type = DataType::kFloat16;
  CubeMath cube = CubeMath::kKeep;
  /// Bits of a factor's mantissa, with the leading one.
  int bits() const;
};
/// For a first factor of type `w`, as product_support() takes it. The second one may be of any
/// float type.
ProductNumbers product_numbers(DType w, const CannTarget& target);
/// Yes, or yes with source number `source` of another type, or no with the reason. `source`: the
/// first factor.
Support product_support(const NodeView& view, std::size_t source, const CannTarget& target);

/// The type that a weight should have whose type the chip's operators don't read.
DType weight_replacement(DType type, const Chip& chip);

/// Whether a product in these numbers has its result in F16.
bool has_half_result(const ProductNumbers& numbers, const Chip& chip);
/// CannKernel::rounding_error() of a product. `sources`: the two factors. Rounding that the op
/// itself allows counts, too.
double product_rounding(const NodeView& view, std::size_t w, std::size_t x,
                        const ProductNumbers& numbers, const Chip& chip);
/// CannKernel::largest_number() of it.
double product_largest(const NodeView& view, std::size_t w, const ProductNumbers& numbers,
                       const Chip& chip);

/// The same of a result in the product's own numbers, as that of groups.
double group_rounding(const Tensor& result, const ProductNumbers& numbers);
/// The largest number of a result that is rounded to a type.
double largest_of(DataType type, const Chip& chip);

/// A factor in a product's numbers: contiguous, or with the first two dimensions swapped.
View product_factor(Calls& calls, const View& from, DataType type);

/// `y[m, n, ...]` = sum over k of `w[k, m, ...] * x[k, n, ...]`, for factors in the product's
/// numbers and y in F32. They have the same number of dimensions. Along those from 2 on the factor
/// with fewer slices is repeated: of Y, slice i is that of slice i / (Y / W). K is not 0.
void multiply(Calls& calls, const ProductNumbers& numbers, const View& w, const View& x,
              const View& y);
/// The same with a rearranged matrix: `w` [K, M, 1]. `x`: F16 [K, N], contiguous; `y`: F32 or F16
/// [M, N].
void multiply(Calls& calls, const WeightParts& w, const View& x, const View& y);

/// Elements of blocks that are decoded at once.
inline constexpr std::int64_t kDecodedElements = std::int64_t{1} << 24;

}  // namespace shunt::cann
