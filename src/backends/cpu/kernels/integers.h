// Integers as kernels read them: numbers of rows, experts and states, and counted values.
#pragma once

#include "backends/cpu/kernel.h"
#include "tensor/integer.h"

namespace shunt::cpu {

/// An element of a tensor of I32 or I64.
inline std::int64_t integer_at(const TensorArg& tensor, std::int64_t i0, std::int64_t i1 = 0,
                               std::int64_t i2 = 0, std::int64_t i3 = 0) {
  return read_integer(tensor.dtype, tensor.row(i1, i2, i3) + i0 * tensor.strides[0]);
}

}  // namespace shunt::cpu
