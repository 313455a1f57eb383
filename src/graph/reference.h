// A whole graph computed by the ops' reference implementations: every plan of it is compared with
// the result.
#pragma once

#include <span>
#include <vector>

#include "graph/op.h"

namespace shunt {

/// The value of each node once the graph has run, by node id, with each dynamic dimension at its
/// maximum. `leaves` are the values of the leaves, by node id too; entries of other nodes are not
/// looked at, and trailing ones may be left out. Nodes are computed in the graph's order. A node
/// may write into memory that it shares. All later readers of that memory see the change, and so do
/// the returned values, those of leaves included. Results of integer types are rounded and
/// saturated; those of other types are not rounded. Invalid if a leaf's value is missing or of
/// other sizes.
Result<std::vector<RefTensor>> reference_run(const Graph& graph, std::span<const RefTensor> leaves);

}  // namespace shunt
