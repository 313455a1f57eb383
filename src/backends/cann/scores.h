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

/// Sums of exponentials, F32 [1, T, H, S].
struct ScoreSums {
  View rows;   ///< of a row; above 0 for a row of zeros
  View total;  ///< and of its sink
};

/// Scores z [N, T, H, S] become exp(z - m) in `out`, of any type of floats, where m is the largest
/// of a row. `out` may be z. A row whose scores are all minus infinity becomes zeros. z is
/// overwritten.
ScoreSums exponentials(Calls& calls, const View& z, const std::optional<View>& sinks,
                       const View& out);

}  // namespace shunt::cann
