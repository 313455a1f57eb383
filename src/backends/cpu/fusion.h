// Several nodes that one kernel of the CPU computes at once.
#pragma once

#include "backend_support/fusion.h"
#include "backends/cpu/kernel.h"

namespace shunt::cpu {

using Fused = shunt::Fused<CpuKernel>;

/// The nodes that are computed at once with a node, if the pattern starts at that node.
using Pattern = std::optional<Fused> (*)(const Surroundings& around, NodeId first,
                                         const CpuTarget& target);

/// The fusions of a segment. Interleaved sources are for kernels that read them.
class Fusions : public shunt::Fusions<CpuKernel> {
 public:
  Fusions(const SegmentView& segment, std::span<const Pattern> patterns, const CpuTarget& target);
};

}  // namespace shunt::cpu
