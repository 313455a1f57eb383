// The size of blocks that share a row.
#pragma once

#include <cstdint>

namespace shunt::cuda {

/// One warp for short rows: a barrier of more costs more than it saves.
constexpr unsigned row_threads(std::int64_t length) {
  return length <= 128 ? 32 : 256;
}

}  // namespace shunt::cuda
