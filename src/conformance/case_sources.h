// Sources of test cases: shapes, strided views and names.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/case.h"
#include "graph/op.h"

namespace shunt {

/// `n` rounded up to a multiple of `block`.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t block) {
  return (n + block - 1) / block * block;
}

/// A contiguous source: normally distributed, or for integer types integers from -100 to 99.
CaseSource source_of(DType dtype, const Sizes& sizes);
/// A source that has `sizes` once `permute` and then `slice` are done, like source_of() otherwise.
CaseSource seen_as(DType dtype, const Sizes& sizes, const std::array<int, kMaxDims>& permute,
                   const Sizes& slice = {0, 0, 0, 0});
/// An optional source that is not given.
CaseSource not_given();
/// The same source, filled in another way.
CaseSource filled(CaseSource source, Fill fill, double low, double high);

/// The same source with these values, before permuting and slicing.
CaseSource with_values(CaseSource source, std::vector<double> values);

/// A source's sizes as the op sees them.
Sizes sizes_of(const CaseSource& source);
/// A source's tensor as the op sees it, and its offset in the contiguous tensor it is a view of.
Result<Inferred> tensor_of(const CaseSource& source);
/// "F32 [7, 3, 2] permuted [0, 2, 1, 3] sliced [0, 1, 0, 0]": the sizes are those that the op sees.
/// `extra`, such as the parameters, follows after a space.
std::string describe_source(const CaseSource& source, std::string_view extra = "");
/// The same for all sources, separated by commas.
std::string describe_sources(std::span<const CaseSource> sources, std::string_view extra = "");

/// Shapes and strides that every op of one source must support. Rows of block types are whole
/// blocks.
std::vector<CaseSource> unary_sources(DType dtype);

/// Passes to `sink` the case of these sources that is named after them and `extra`.
void emit_case(const CaseSink& sink, const Params& params, std::vector<CaseSource> sources,
               double max_error, std::string_view extra = "");

}  // namespace shunt
