// Several nodes that one kernel computes at once.
#pragma once

#include <span>

#include "backend_support/fusion.h"
#include "backends/cuda/kernel.h"

namespace shunt::cuda {

using Fused = shunt::Fused<CudaKernel>;
using Fusions = shunt::Fusions<CudaKernel>;
using Pattern = std::optional<Fused> (*)(const Surroundings& around, NodeId first);

/// All, in the order in which they are looked for.
std::span<const Pattern> fused_patterns();

}  // namespace shunt::cuda
