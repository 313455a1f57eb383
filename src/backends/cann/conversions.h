// Conversions between all types, as cpy() in ops/data.h defines them.
#pragma once

#include "backends/cann/blocks.h"

namespace shunt::cann {

/// Whether convert() can on a chip, with the reason if not.
Support can_convert(DType from, DType to, const Chip& chip);
/// Writes elements, converted. Equal types are moved, whichever they are. Sizes are equal.
void convert(Calls& calls, const StoredTensor& to, const StoredTensor& from);

/// F32 or F64 rounded to nearest even, in `to`, of integers. Saturates; not-a-number becomes 0.
void round_to(Calls& calls, const View& to, const View& from);
/// Sets all elements to a number, converted as cpy() does, bit by bit: also one that the chip's
/// arithmetic does not have. `to`: of any plain type.
void fill_exactly(Calls& calls, const StoredTensor& to, float value);

}  // namespace shunt::cann
