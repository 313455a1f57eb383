// What is added to scores before softmax. Where a mask says minus infinity, a number does that is
// as good and that the machine has.
#pragma once

#include <vector>

#include "backends/zdnn/host_tensor.h"

namespace shunt::zdnn {

/// Sizes of a mask as it comes into the layout: its own; of each head, if they have slopes.
Sizes mask_sizes(const Sizes& mask, const Sizes& scores, float max_bias);

/// A mask repeated to these sizes, dense, times the slopes of heads; zeros if there is none.
void repeat_mask(const HostTensor& mask, const Sizes& sizes, float max_bias, float* to);

/// What a row has in common changes nothing but how finely it is rounded.
void take_off_largest(float* row, std::int64_t n);

/// Puts numbers that the machine has for minus infinity, and for what is as low. The rows that were
/// minus infinity all over: what comes of them is zeros.
std::vector<std::int64_t> hide(const Sizes& sizes, float* mask);

/// 1 all over, but 0 in these rows.
void show(const Sizes& sizes, const std::vector<std::int64_t>& blind, float* to);

inline std::int64_t count_rows(const Sizes& sizes) {
  return sizes[1] * sizes[2] * sizes[3];
}

}  // namespace shunt::zdnn
