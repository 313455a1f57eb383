// The bytes of a tensor as a size of memory.
#pragma once

#include <cstddef>

#include "base/to_size.h"
#include "shunt/tensor.h"

namespace shunt {

/// byte_span(), which is never negative.
inline std::size_t bytes_of(const Tensor& tensor) {
  return to_size(byte_span(tensor));
}

}  // namespace shunt
