// What is added to scores before softmax. Where a mask says minus infinity, the lowest number does
// that the machine has, and whatever the score is there is made 0 first: so that is as good.
#pragma once

#include <vector>

#include "backends/zdnn/host_tensor.h"

namespace shunt::zdnn {

/// Sizes of a mask as it comes into the layout: its own; of each head, if they have slopes.
Sizes mask_sizes(const Sizes& mask, const Sizes& scores, float max_bias);

/// A mask repeated to these sizes, dense, times the slopes of heads; zeros if there is none.
void repeat_mask(const HostTensor& mask, const Sizes& sizes, float max_bias, float* to);

/// What a mask hides.
struct Hidden {
  bool some = false;               ///< elements
  std::vector<std::int64_t> rows;  ///< minus infinity all over: what comes of them is zeros
};
/// Puts the lowest number that the machine has for minus infinity, and for what is as low.
Hidden hide(const Sizes& sizes, float* mask);

/// In the place of what hide() left: 0 for what is hidden, 1 for the rest.
void keep_shown(const Sizes& sizes, float* mask);

/// 1 all over, but 0 in these rows.
void keep_rows(const Sizes& sizes, const std::vector<std::int64_t>& hidden, float* to);

inline std::int64_t count_rows(const Sizes& sizes) {
  return sizes[1] * sizes[2] * sizes[3];
}

}  // namespace shunt::zdnn
