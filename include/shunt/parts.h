/// \file
/// Weights in parts: a graph made again with some weights split, so that several devices compute
/// with one weight. Include it for graphs of your own. A model is split by LoadOptions::split
/// (engine.h).
///
/// \code
/// const LeafParts halves[] = {{.leaf = w.id, .sizes = {2048, 2048}}};  // of the 4096 rows of w
/// SHUNT_ASSIGN(const PartedGraph parted, with_parts(graph, halves));
/// \endcode
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// A weight, and the parts that it is split into along one dimension: 1 for the rows of a matrix, 0
/// for its columns.
struct LeafParts {
  NodeId leaf = 0;
  int dim = 1;
  std::vector<std::int64_t> sizes;  ///< elements of each part along `dim`, in order
};

/// The result of with_parts().
struct PartedGraph {
  Graph graph;
  /// By node of the graph before: the node with the same value; kNoNode for one that exists in
  /// parts only.
  std::vector<NodeId> nodes;
  /// By node of the graph before: its parts, in order; none if it is not split.
  std::vector<std::vector<NodeId>> parts;
};

/// The same graph with some weights split. Each part is a leaf of its own, NAME/0, NAME/1 and so
/// on, with the role of the weight.
///
/// A product with rows of a weight gives rows of the result; products with columns are added.
/// Values stay in parts as long as each op can compute its part alone. Such ops are elementwise
/// ops, norms along other dimensions, rope and attention by heads, and views that leave the split
/// dimension whole. Elsewhere parts are concatenated. A cache into which set_rows() writes split
/// rows is split with them, if its parts are whole blocks.
///
/// Results of row parts are those of the whole graph, as far as a device computes each row alike;
/// sums over columns are rounded in another order.
///
/// Invalid for a node that is no weight or is named twice, and for a dimension that is a dynamic
/// dimension. Invalid for parts that are empty, do not add up or are not whole blocks. The message
/// names the leaf and the sizes.
Result<PartedGraph> with_parts(const Graph& graph, std::span<const LeafParts> parts);

}  // namespace shunt
