// Masks that are added to scores before softmax, for a device whose numbers have no infinity. The
// lowest number of the device replaces minus infinity, and hidden scores are made 0 before it is
// added.
#pragma once

#include <vector>

#include "backend_support/host_tensor.h"

namespace shunt {

/// Sizes of a mask on the device: its own; with a matrix per head, if heads have slopes.
Sizes mask_sizes(const Sizes& mask, const Sizes& scores, float max_bias);

/// A mask repeated to these sizes, dense, times the slopes of heads (alibi_slope()); zeros if there
/// is none.
void repeat_mask(const HostTensor& mask, const Sizes& sizes, float max_bias, float* to);

/// Which elements a mask hides.
struct Hidden {
  bool some = false;               ///< elements
  std::vector<std::int64_t> rows;  ///< of minus infinity alone: their results are zeros
};
/// Elements that are not above `lowest` are hidden, and become `lowest`.
Hidden hide(const Sizes& sizes, float* mask, float lowest);

/// Replaces a mask that hide() has changed: 0 for each hidden element, 1 for the rest.
void keep_shown(const Sizes& sizes, float* mask, float lowest);

/// Adds scores times a scale to a mask of their sizes, then subtracts the largest number of each
/// row. `row` has room for one row.
void add_scores(const HostTensor& scores, float scale, float* row, float* mask);

/// Writes 0 to the hidden rows, and 1 to all others.
void keep_rows(const Sizes& sizes, const std::vector<std::int64_t>& hidden, float* to);

}  // namespace shunt
