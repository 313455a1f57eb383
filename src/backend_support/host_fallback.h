// Computes one node on the host with its op's reference, in F64, where a device can't represent the
// numbers of a run.
#pragma once

#include <functional>
#include <vector>

#include "graph/op.h"
#include "shunt/device.h"

namespace shunt {

/// How the fallback reads its sources.
struct FallbackSources {
  /// All values of a source, by its number. Sources that are absent are not asked for.
  std::function<Result<RefTensor>(std::size_t source)> values;
  /// If set, the first source is the matrix of a matmul, which may be large. Some of its rows are
  /// then read at a time, in order, with this function.
  std::function<Result<std::vector<float>>(std::int64_t first, std::int64_t count)> rows = {};
};

/// The result of node `asked`. If `last` is another node, it adds its second source to that, and
/// its result is returned. The number of that source follows those of `asked`.
Result<RefTensor> compute_on_host(const Graph& graph, NodeId asked, NodeId last,
                                  const DynamicDimValues& dynamic_dims,
                                  const FallbackSources& sources);

/// The values of a view, from those of the node that it views.
RefTensor values_of_view(const RefTensor& values, const Tensor& owner, const Node& view,
                         const DynamicDimValues& dynamic_dims);

}  // namespace shunt
