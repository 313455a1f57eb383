// Layouts of a device's own in which matrices follow each other, and in each matrix blocks of some
// columns: which views of a tensor are tensors of the layout where they lie.
#pragma once

#include <cstdint>

#include "shunt/graph.h"

namespace shunt {

/// Where a source is, as far as that matters to a kernel.
enum class SourcePlace : std::uint8_t {
  kOutside,   ///< in plain memory
  kInLayout,  ///< computed in the segment
  kTurned,    ///< the same, its matrices transposed
};

/// Where a view is in the layout of its owner. It is there if it is the same matrices, or one
/// matrix whose columns are divided at multiples of `block_columns`.
SourcePlace place_in_blocks(const Node& view, const Node& owner, std::int64_t block_columns);

}  // namespace shunt
