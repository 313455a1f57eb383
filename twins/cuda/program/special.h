// Special registers: %tid.x and its like. An instruction that names one is preceded by an op that
// moves its value into a temporary register.
#pragma once

#include <string_view>

#include "cuda/program/op.h"
#include "cuda/ptx/types.h"

namespace cuda_twin {

struct SpecialRegister {
  std::string_view name;
  ptx::Type type;
  ptx::Version version;
  int sm;
  Handler read;              ///< args[0] is a register of the type's size, or a predicate
  unsigned legacy_bits = 0;  ///< its size in PTX 1.x, which mov and cvt may read still; 0: the same
};

/// Null if there is none of this name.
const SpecialRegister* special_register(std::string_view name);

// Values that the binder needs and PTX has no name for.
/// args[0] (8 bytes): where the current frame's .local variables begin, plus Op::immediate.
Next read_local_base(Warp& warp, const Op& op, LaneMask active);
/// args[0] (8 bytes): where the dynamic shared memory begins, plus Op::immediate.
Next read_dynamic_base(Warp& warp, const Op& op, LaneMask active);
/// args[0] (4 bytes): the low Op::extra bits of args[1].
Next keep_low_bits(Warp& warp, const Op& op, LaneMask active);
/// args[0]: the low Op::extra bits of args[1] plus Op::immediate. Both have the same bytes.
Next add_constant(Warp& warp, const Op& op, LaneMask active);
/// args[0], a predicate: Op::immediate is not 0.
Next set_constant_predicate(Warp& warp, const Op& op, LaneMask active);

}  // namespace cuda_twin
