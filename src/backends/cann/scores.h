// The parts that softmax and attention share: how a mask and sinks get into scores.
#pragma once

#include <optional>

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

/// The slope of each head (alibi_slope()), F32 [1, 1, heads, 1].
View slopes_of(Calls& calls, float max_bias, std::int64_t heads);
/// Sinks of a node, F32 [1, 1, heads, 1].
std::optional<View> sinks_of(Calls& calls, const Operands& node, std::size_t source);

/// Scores z [N, T, H, S] become exp(z - m) in `out`, of any type of floats, where m is the largest
/// of a row and its sink. `out` may be z. Returns the sums of rows and sinks, F32 [1, T, H, S]. A
/// row whose scores are all minus infinity becomes zeros, of a sum above 0. z is overwritten.
View exponentials(Calls& calls, const View& z, const std::optional<View>& sinks, const View& out);

}  // namespace shunt::cann
