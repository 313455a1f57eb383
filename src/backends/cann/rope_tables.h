// Cosines and sines of the angles by which rope turns, for all tokens of a run.
#pragma once

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

/// Elements of a row (or of another tensor whose dimension 0 is that of rows) that are the first or
/// the second ones of pairs.
View firsts_of_pairs(const View& rows, const RopeParams& params);
View seconds_of_pairs(const View& rows, const RopeParams& params);

/// F32 [dims, 1, T, 1], times rope_magnitude().
struct RopeTables {
  View cosines, sines;
};

/// How a table is used: the sines of first elements have the other sign, or not.
enum class RopeSines : std::uint8_t { kSame, kOpposite };

/// Of a node of rope (`direction` 1) or rope_back (-1). They are computed once in a segment.
RopeTables rope_tables(Calls& calls, const Operands& node, float direction, RopeSines sines);

}  // namespace shunt::cann
