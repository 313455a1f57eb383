// Dimensions and checks that the operators of shapes, indices and windows share.
#pragma once

#include <functional>

#include "ascend/ops/op.h"
#include "ascend/tensors/move.h"

namespace ascend_twin {

/// 161002 unless every tensor is in plain layout, of a type that this chip has.
Status need_plain(const Call& call);

/// A dimension of the argument, counted from the end if it is negative: 161002 if it has none such.
/// A tensor without dimensions counts as one of [1].
Status dimension_of(const Call& call, std::size_t position, std::int64_t dimension,
                    std::size_t* axis);

/// 161002 with the argument and the reason.
Status invalid_argument(const Call& call, std::size_t position, const std::string& reason);

/// An array of this many integers, none below `least`.
Status need_integers(const Call& call, std::size_t position, std::size_t count, std::int64_t least);

/// [1] for no dimensions.
View at_least_one_dimension(View view);

/// Products of the dimensions before and after one.
struct Split {
  std::int64_t outer = 1, size = 1, inner = 1;
};
Split split_at(const Shape& shape, std::size_t axis);

/// Element i of the result is the source's element at the returned number, or kFill. `source_of`
/// gets the coordinates of the result.
std::vector<std::int64_t> sources_of(
    const Shape& result, const std::function<std::int64_t(const Shape& place)>& source_of);
/// Number of the element at these coordinates.
std::int64_t number_of(const Shape& shape, const Shape& place);

Filling filling_of(const Argument& scalar);

}  // namespace ascend_twin
