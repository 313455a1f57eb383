// Which parts of the same memory tensors take.
#pragma once

#include <cstdint>

#include "shunt/tensor.h"

namespace shunt {

/// A tensor in memory that it shares with others.
struct Placed {
  const Tensor& tensor;
  std::int64_t offset = 0;  ///< bytes from the start of that memory
};

/// Whether each element of one is the same element of the other.
bool same_elements(const Placed& a, const Placed& b);

/// Whether two tensors have a byte in common at the dynamic dimensions' maximum. Exact for windows
/// of the same tensor, permuted or not. It can't decide, for example, between a tensor and one that
/// is reshaped. Then it says yes as soon as the bytes from the first to the last element meet.
bool overlap(const Placed& a, const Placed& b);

}  // namespace shunt
