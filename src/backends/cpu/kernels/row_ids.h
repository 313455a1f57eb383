// Numbers of rows, as get_rows and set_rows take them.
#pragma once

#include <cstring>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

/// Element i of `ids`, which is I32 or I64.
inline std::int64_t row_id(const TensorArg& ids, std::int64_t i) {
  const std::byte* at = ids.data + i * ids.strides[0];
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
