// How the error of a result depends on the number of its elements, for Device::rounding_error().
#pragma once

#include "shunt/tensor.h"

namespace shunt {

/// The factor by which the normalised mean square error of a result may be larger than that of one
/// with many elements. An error is a larger share of few elements, or of sums that are small
/// relative to their terms. The same as in the ops' cases. 0 if there are no elements.
inline double error_share(const Tensor& result) {
  constexpr double kFew = 64;
  const auto count = static_cast<double>(element_count(result.shape));
  return count > 0 ? 1 + kFew / count : 0;
}

}  // namespace shunt
