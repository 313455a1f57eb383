// A part of a matrix in host memory as a matrix of floats, as a vendor's BLAS functions take it.
#pragma once

#include <cstdint>

#include "backend_support/host_tensor.h"

namespace shunt {

struct FloatMatrix {
  const float* data = nullptr;
  int stride = 1;           ///< floats from a line to the next one
  bool transposed = false;  ///< a line has one element of each row; else the elements of one row
};

/// The part in place, if it is F32 and contiguous along one of its dimensions. Otherwise it is
/// decoded to `room`, which has elements * rows floats; `data` is null if `room` is.
FloatMatrix float_matrix(const HostTensor& tensor, std::int64_t i2, std::int64_t i3,
                         const MatrixPart& part, float* room);

}  // namespace shunt
