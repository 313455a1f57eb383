// Several nodes that one operator of the vendor computes at once.
#pragma once

#include <optional>
#include <span>

#include "backend_support/fusion.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

using Fused = shunt::Fused<CannKernel>;
using Fusions = shunt::Fusions<CannKernel>;
using Pattern = std::optional<Fused> (*)(const Surroundings& around, NodeId first);

/// All, in the order in which they are looked for.
std::span<const Pattern> fused_patterns();

}  // namespace shunt::cann
