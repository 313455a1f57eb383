// One node computed on the host, by its op's plain meaning and in F64, where a device can't with
// the numbers of a run.
#pragma once

#include <functional>
#include <vector>

#include "graph/op.h"
#include "shunt/device.h"

namespace shunt {

/// Where the fallback gets its numbers from.
struct FallbackSources {
  /// All values of a source, by its number. Sources that are absent are not asked for.
  std::function<Result<RefTensor>(std::size_t source)> values;
  /// Not empty: the first source is a matrix of a matmul that may be large. Then some of its rows
  /// are read at a time, one after the other, with this.
  std::function<Result<std::vector<float>>(std::int64_t first, std::int64_t count)> rows = {};
};

/// The result of node `asked`. If `last` is another node: of `last`, which adds its second source,
/// the one behind those of `asked`, to that.
Result<RefTensor> compute_on_host(const Graph& graph, NodeId asked, NodeId last,
                                  const ExtentValues& extents, const FallbackSources& sources);

/// The values that a view has, given those of the node that it is a view of.
RefTensor values_of_view(const RefTensor& values, const Tensor& owner, const Node& view,
                         const ExtentValues& extents);

}  // namespace shunt
