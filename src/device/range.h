#pragma once

#include "shunt/device.h"

namespace shunt {

/// Invalid, with the numbers, unless [offset, offset + bytes) lies inside the buffer.
Status check_range(const Buffer& buffer, std::size_t offset, std::size_t bytes);

}  // namespace shunt
