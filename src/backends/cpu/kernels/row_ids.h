// Numbers of rows, as get_rows and set_rows take them.
#pragma once

#include <cstring>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

/// An element of `ids`, which is I32 or I64.
inline std::int64_t row_id(const TensorArg& ids, std::int64_t i0, std::int64_t i1 = 0,
                           std::int64_t i2 = 0) {
  const std::byte* at = ids.row(i1, i2) + i0 * ids.strides[0];
  if (ids.dtype == DType::kI64) {
    std::int64_t id = 0;
    std::memcpy(&id, at, sizeof id);
    return id;
  }
  std::int32_t id = 0;
  std::memcpy(&id, at, sizeof id);
  return id;
}

}  // namespace shunt::cpu
