#include <algorithm>

#include "shunt/tensor.h"
#include "tensor/checked.h"

namespace shunt {

Sizes max_sizes(const Shape& shape) {
  Sizes sizes = {};
  std::ranges::transform(shape, sizes.begin(), &Dim::max);
  return sizes;
}

std::int64_t element_count(const Shape& shape) {
  // A size of 0 makes the rest irrelevant, also where it would overflow.
  if (std::ranges::any_of(shape, [](const Dim& dim) { return dim.max <= 0; })) return 0;
  std::int64_t count = 1;
  for (const Dim& dim : shape) count = saturating_multiply(count, dim.max);
  return count;
}

std::string to_string(const Shape& shape) {
  std::size_t dims = shape.size();
  while (dims > 1 && shape[dims - 1] == Dim(1)) --dims;
  std::string text = "[";
  for (std::size_t i = 0; i < dims; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i].max);
    if (!shape[i].is_fixed()) text += '*';
  }
  return text + "]";
}

}  // namespace shunt
