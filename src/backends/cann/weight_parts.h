// Rearranged weights as operands of the vendor's operators.
#pragma once

#include "backends/cann/kernel.h"
#include "backends/cann/weight_memory.h"

namespace shunt::cann {

/// A rearranged weight [K, M, E] as operands.
struct WeightParts {
  View codes;   ///< INT8 or INT4 [K, M, E]
  View scales;  ///< F16 [K / 32, M, E]

  /// Matrices [first, first + count).
  WeightParts matrices(std::int64_t first, std::int64_t count) const;
};
/// Of a source that is_rearranged().
WeightParts weight_parts(const Operands& node, std::size_t source);
/// Matrices by Int32 indices [N] in range, copied.
WeightParts pick_matrices(Calls& calls, const WeightParts& weight, const View& indices);
/// Decoded: F16 [K, M, E].
View dequantize(Calls& calls, const WeightParts& weight);

}  // namespace shunt::cann
