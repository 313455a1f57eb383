// The changes that an executable graph allows.
#pragma once

#include <memory>

#include "cuda/graphs/exec.h"

namespace cuda_twin {

/// Whether the executable graph's step may get this work: the same kind of node, and memory of the
/// same kind and device. The reason is refused with CUDA_ERROR_INVALID_VALUE.
/// `strict` is for cuGraphExecMemcpyNodeSetParams and its like, which take one-dimensional copies
/// only.
CUgraphExecUpdateResult check_change(const Step& step, const Work& work, const Context* context,
                                     bool strict, const char*& reason);

/// A plan with the topology of `plan` and the parameters of `graph`. Null, and `info` filled, if
/// the graph's topology or a change is not allowed. Needs Driver::graphs_mutex.
std::shared_ptr<Plan> updated(const Plan& plan, const Graph& graph,
                              CUgraphExecUpdateResultInfo& info, const char*& reason);

}  // namespace cuda_twin
