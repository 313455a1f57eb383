// Places of elements and the memory that they reach, of both kinds of layout.
#include "ascend/tensors/nz.h"
#include "ascend/tensors/view.h"

namespace ascend_twin {

View::Reach View::reach() const {
  if (elements() == 0) return {};
  if (is_nz()) return {offset, offset + nz_span(*this)};
  std::int64_t first = offset;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < rank(); ++i) {
    (strides[i] < 0 ? first : last) += (shape[i] - 1) * strides[i];
  }
  return {first, last + 1};
}

std::int64_t View::place_of(std::int64_t number) const {
  if (is_nz()) return nz_place_of(*this, number);
  std::int64_t place = offset;
  for (std::size_t i = rank(); i-- > 0;) {
    place += number % shape[i] * strides[i];
    number /= shape[i];
  }
  return place;
}

}  // namespace ascend_twin
