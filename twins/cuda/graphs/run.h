// Executes a graph in its stream's turn.
#pragma once

#include "cuda/driver/work.h"

namespace cuda_twin {

/// When a stream takes the launch: its nodes get numbers for the race checks, after `number`, and
/// its events their records. The number of its end, which later work of the stream is after.
std::uint64_t order_launch(GraphLaunch& launch, std::uint64_t number);

/// perform() for GraphWork: waits for earlier launches of the same executable graph, then runs the
/// nodes in an order that their edges allow. The first error ends it and is the result.
CUresult perform_graph(Context& context, GraphLaunch& launch, std::uint64_t number);

}  // namespace cuda_twin
