// Ends of sequences in test cases of recurrences.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_sources.h"

namespace shunt {

/// The source `ends` of a case, for this number of tokens.
struct CaseEnds {
  std::int64_t tokens = 0;
  std::vector<double> ends = {};

  std::int64_t sequences() const { return std::ssize(ends); }
  CaseSource source() const {
    return with_values(source_of(DType::kI32, {sequences(), 1, 1, 1}), ends);
  }
  /// The same as a view of a larger tensor, whose other elements are out of range.
  CaseSource seen(const std::array<int, kMaxDims>& permute, const Sizes& slice) const {
    const CaseSource view = seen_as(DType::kI32, {sequences(), 1, 1, 1}, permute, slice);
    Sizes strides = {1, 1, 1, 1};  // in elements
    for (std::size_t dim = 1; dim < kMaxDims; ++dim)
      strides[dim] = strides[dim - 1] * view.sizes[dim - 1];
    const auto stride = [&](std::size_t i) {
      return strides[static_cast<std::size_t>(permute[i])];
    };
    std::int64_t first = 0;
    for (std::size_t i = 0; i < kMaxDims; ++i) first += slice[i] * stride(i);
    std::vector<double> values(static_cast<std::size_t>(strides[3] * view.sizes[3]), -1);
    for (std::size_t s = 0; s < ends.size(); ++s) {
      const std::int64_t at = first + static_cast<std::int64_t>(s) * stride(0);
      values.at(static_cast<std::size_t>(at)) = ends[s];
    }
    return with_values(view, values);
  }
  std::string name() const {
    std::string text = "ends";
    for (const double end : ends) text += fmt::format(" {}", end);
    return text;
  }
};

/// One sequence alone, some without tokens, idle tokens, no sequences, no tokens.
inline std::vector<CaseEnds> cases_of_ends() {
  return {{5, {5}},          {5, {2, 3, 5}}, {7, {3, 3, 7}},          {6, {0, 4}},
          {9, {1, 2, 5, 7}}, {4, {0, 0}},    {8, {1, 2, 3, 4, 5, 8}}, {3, {}},
          {0, {0, 0}},       {0, {}},        {40, {33, 34, 34, 38}},  {1, {0, 1, 1}}};
}
/// Sequences whose tokens are several chunks, one alone, and of 1, 0, 63, 64 and 65 tokens.
inline std::vector<CaseEnds> ends_of_chunks() {
  return {{200, {200}}, {200, {1, 1, 64, 128, 193}}};
}
/// Ends for operands with other strides.
inline CaseEnds usual_ends() {
  return {7, {2, 2, 6}};
}

}  // namespace shunt
