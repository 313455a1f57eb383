#pragma once

#include "shunt/device.h"

namespace shunt {

/// Invalid, with the numbers, unless [offset, offset + bytes) is inside the buffer.
Status check_range(const Buffer& buffer, std::size_t offset, std::size_t bytes);
/// The same for the rows of a 2-D copy with this pitch; and unless the pitch is at least a row.
Status check_rows(const Buffer& buffer, std::size_t offset, const CopyShape& shape,
                  std::size_t pitch);

}  // namespace shunt
