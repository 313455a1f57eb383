// How a file says that a model's rotary positions are stretched.
#pragma once

#include "model/architecture_keys.h"
#include "shunt/ops.h"

namespace shunt {

/// The parameters of rope for heads of `dims` rotated elements, from the keys rope.*. Unsupported
/// for an unknown kind of scaling; BadFile for invalid numbers.
Result<RopeParams> read_rope(ArchitectureKeys& keys, std::int64_t dims, RopeMode mode);

/// The factor of YaRN for scores' square root where none is stated: 1 + 0.1 ln(stretch) (arXiv
/// 2309.00071, 3.4).
double yarn_growth(const RopeParams& rope);
/// Whether the file states the whole factor instead.
Result<bool> states_yarn_factor(ArchitectureKeys& keys);

}  // namespace shunt
