// Operators along dimensions: a tensor as rows, each of which is reduced or normalised.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ascend/ops/op.h"

namespace ascend_twin {

/// One flag for each dimension. A tensor without dimensions is one row of one element.
using Axes = std::vector<bool>;

/// A dimension, counted from the end if negative; 161002 outside. 0 and -1 are right for rank 0,
/// too, and give no axis.
Status axis_of(const Call& call, std::size_t tensor, std::int64_t dim, Axes* axes);
/// Several; none: all. A dimension twice is 161002.
Status axes_of(const Call& call, std::size_t tensor, const std::vector<std::int64_t>& dims,
               Axes* axes);
/// The last `count` dimensions.
Axes last_axes(std::size_t rank, std::size_t count);

/// The dimensions of `axes` last: each row is contiguous in logical order.
View rows_of(View view, const Axes& axes);
/// Elements of a row.
std::int64_t length_of(const Shape& shape, const Axes& axes);
/// Without the dimensions of `axes`, or with 1 in their places.
Shape reduced_shape(const Shape& shape, const Axes& axes, bool keeps);

/// An operand by rows.
Operand rows_of(const Operand& operand, const Axes& axes);

/// Calls `visit(row number, span of its values)` for each row.
template <class Value, class Visit>
void for_each_row(std::vector<Value>& values, std::int64_t length, Visit visit) {
  const auto size = static_cast<std::size_t>(length);
  if (size == 0) return;
  for (std::size_t row = 0; row < values.size() / size; ++row)
    visit(row, std::span<Value>(values.data() + row * size, size));
}

/// The sum in order, in double precision.
double sum_of(std::span<const double> values);

/// Never 0. Few rows are split over the cores, many are not: the size falls with growing shapes.
std::uint64_t reduction_workspace(std::int64_t rows);

}  // namespace ascend_twin
