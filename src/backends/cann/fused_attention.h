// Attention by one operator of the vendor's, in F16.
#pragma once

#include "backends/cann/attention.h"

namespace shunt::cann {

/// Whether the chip may have one operator for a node whose first sources are q, k and v, and
/// options permit it. The rest depends on the sizes of a run. `plain`: it has no bias, sinks or
/// soft-cap.
bool may_be_fused(const NodeView& view, bool plain, const CannTarget& target);

/// attend() by one operator. Rows of queries that see no key have any numbers. False if the chip
/// has none for these sizes; then nothing was called.
bool attend_fused(Calls& calls, const AttentionOperands& operands, const View& result);

/// Whether a program is being made ready on a chip where sizes of a run decide: its plan needs the
/// calls of attend(), too.
bool needs_both(const Calls& calls);

}  // namespace shunt::cann
