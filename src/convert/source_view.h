// A published tensor as the rows and columns of a weight.
#pragma once

#include "convert/weight_source.h"

namespace shunt {

/// How `tensor` is seen as the weight of `sizes` (innermost first) that is made of it. `is_stack`:
/// it is one of several matrices. Nothing, if it has another shape.
std::optional<SourceView> view_of(const StoredTensor& tensor, const PublishedTensor& from,
                                  const Layer& layer, const Sizes& sizes, bool is_stack);

}  // namespace shunt
