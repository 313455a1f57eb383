// How a file says that a model's rotary positions are stretched.
#pragma once

#include <string>

#include "shunt/gguf.h"
#include "shunt/ops.h"

namespace shunt {

/// The parameters of rope for heads of `dims` rotated elements, from PREFIX.rope.*. Unsupported for
/// an unknown kind of scaling; BadFile for invalid numbers.
Result<RopeParams> read_rope(const gguf::File& file, const std::string& prefix, std::int64_t dims,
                             RopeMode mode);

}  // namespace shunt
