// Executes a graph in its stream's turn.
#pragma once

#include "cuda/driver/work.h"

namespace cuda_twin {

/// perform() for GraphWork: waits for earlier launches of the same executable graph, then runs the
/// nodes in an order that their edges allow. The first error ends it and is the result. `number` is
/// the launch's own; each node gets a number of its own for the race checks.
CUresult perform_graph(Context& context, GraphLaunch& launch, std::uint64_t number);

}  // namespace cuda_twin
