// Elements of integer tensors: numbers of rows, experts and states, and counts.
#pragma once

#include <cstring>

#include "shunt/tensor.h"

namespace shunt {

/// An element of I32 or I64.
inline std::int64_t read_integer(DType dtype, const std::byte* at) {
  if (dtype == DType::kI64) {
    std::int64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace shunt
