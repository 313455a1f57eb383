// Rearranged weights as operands of the vendor's operators.
#pragma once

#include "backends/cann/kernel.h"
#include "backends/cann/weight_memory.h"

namespace shunt::cann {

/// A rearranged weight [K, M, E] as operands.
struct WeightParts {
  View codes;   ///< INT8 or INT4 [K, M, E]
  View scales;  ///< F16 [K / 32, M, E]

  /// Each row as a matrix: [K, 1, M * E].
  WeightParts rows() const;
  /// Matrices [first, first + count).
  WeightParts matrices(std::int64_t first, std::int64_t count) const;
};
/// Of a source that is_rearranged().
WeightParts weight_parts(const Operands& node, std::size_t source);
/// Matrices by Int32 indices [N] in range, copied.
WeightParts pick_matrices(Calls& calls, const WeightParts& weight, const View& indices);
/// Decoded, as F16, which rounds each number, or F32: [K, M, E].
View dequantize(Calls& calls, const WeightParts& weight, DataType to);

}  // namespace shunt::cann
