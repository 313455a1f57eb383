// Blocked layouts of devices: a tensor is a sequence of matrices, and a matrix is a sequence of
// column blocks. Finds the views that are tensors of the layout without a copy.
#pragma once

#include <cstdint>

#include "shunt/graph.h"

namespace shunt {

/// The place of a source, as a kernel needs it.
enum class SourcePlace : std::uint8_t {
  kOutside,   ///< in plain memory
  kInLayout,  ///< computed in the segment
  kTurned,    ///< the same, its matrices transposed
};

/// The place of a view in the layout of its owner. The view is in the layout if it has the same
/// matrices, or if it divides the columns of one matrix at multiples of `block_columns`.
SourcePlace place_in_blocks(const Node& view, const Node& owner, std::int64_t block_columns);

}  // namespace shunt
