// cubeMathType: in which numbers a product of this chip is computed (facts 4.3, A).
#pragma once

#include "ascend/ops/op.h"

namespace ascend_twin {

enum class CubeNumbers : std::uint8_t { kFull, kHf32, kHalf };

/// Refuses the combinations of the chip (161002), 561103 for a type of the operands or of the
/// result that a 310B has no kernel for.
Status cube_numbers(const Call& call, std::size_t a, std::size_t b, std::size_t out,
                    std::int64_t cube_math_type, CubeNumbers* numbers);

/// Operands as the unit sees them.
void round_for_cube(CubeNumbers numbers, bool saturates, std::vector<float>& values);

}  // namespace ascend_twin
