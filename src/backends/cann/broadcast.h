// Operands that are repeated along dimensions of others.
#pragma once

#include <vector>

#include "backends/cann/tensor.h"

namespace shunt::cann {

/// Views whose sizes are equal, and one that the vendor's rules broadcast to them.
struct Aligned {
  std::vector<View> whole;
  View part;
};

/// Element i of `whole` meets element i mod n of `part` along a dimension, where n divides the size
/// of whole. Such a dimension becomes two. `whole`: contiguous or not, all of the same sizes.
Aligned align(std::vector<View> whole, View part);

}  // namespace shunt::cann
