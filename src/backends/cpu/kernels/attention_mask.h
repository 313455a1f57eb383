// The effect of a piece of a mask's row, wherever its elements are.
#pragma once

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/mask.h"

namespace shunt::cpu {

using simd::SeenKeys;

/// The effect of the mask, F32 or F16, on `count` keys from `first` on.
inline SeenKeys look_at_mask(const TensorArg& mask, std::byte* row, std::int64_t first,
                             std::int64_t count) {
  const std::byte* from = element(mask, row, first);
  if (has_plain_rows(mask)) return simd::look_at_mask(mask.level, mask.dtype, from, count);
  const auto last = [&] { return from + (count - 1) * mask.strides[0]; };
  while (count > 0 && simd::look_at_mask(mask.level, mask.dtype, last(), 1).hidden()) --count;
  return {count, count == 0};
}

}  // namespace shunt::cpu
