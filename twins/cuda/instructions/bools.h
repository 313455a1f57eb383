// The Boolean operators of setp, set and lop3: ".and", ".or" and ".xor" with a predicate.
#pragma once

#include <cstdint>

#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

enum class BoolOp : std::uint8_t { kNone, kAnd, kOr, kXor };

[[gnu::always_inline]] inline LaneMask combined(BoolOp op, LaneMask result, LaneMask with) {
  switch (op) {
    case BoolOp::kAnd:
      return result & with;
    case BoolOp::kOr:
      return result | with;
    case BoolOp::kXor:
      return result ^ with;
    case BoolOp::kNone:
      break;
  }
  return result;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
