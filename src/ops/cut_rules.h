// How ops are computed in parts: the input of each part from the sources, and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// How a value is cut along a dimension.
struct TensorSplit {
  std::size_t dim = 0;
  std::vector<std::int64_t> sizes;  ///< elements of each part along it
  bool operator==(const TensorSplit&) const = default;
};

/// A node computed in parts.
struct NodeInParts {
  std::vector<std::optional<TensorSplit>> sources;  ///< none: each part reads the whole source
  std::optional<TensorSplit> result;                ///< none: the results of the parts are added
  std::vector<Params> params = {};                  ///< of each part; none: those of the node
};

/// How a node is computed in parts where some of its sources are cut. `cuts`: by source; null for
/// one that is whole. Nothing if the op needs its sources whole.
std::optional<NodeInParts> in_parts(const Graph& graph, const Node& node,
                                    std::span<const TensorSplit* const> cuts);

}  // namespace shunt
