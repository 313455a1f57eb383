// The effect of attention masks on keys, found without decoding the masks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// Of some keys.
struct SeenKeys {
  std::int64_t count;  ///< all from here on are hidden, by minus infinity
  bool plain;          ///< all are hidden, or nothing is added to any of them

  bool hidden() const { return count == 0; }
};

/// Of `count` keys, whose F32 or F16 elements of the mask are contiguous.
SeenKeys look_at_mask(Level level, DType type, const std::byte* mask, std::int64_t count);

}  // namespace shunt::cpu::simd
