// Several nodes that one kernel of the machine computes at once.
#pragma once

#include "backend_support/fusion.h"
#include "backends/zdnn/binding.h"

namespace shunt::zdnn {

using Fused = shunt::Fused<ZdnnKernel>;
using Fusions = shunt::Fusions<ZdnnKernel>;

/// The fusions of a segment: a node, and the one that adds a row to it, if its kernel does both.
Fusions find_fusions(const SegmentView& segment, const Shared& shared);

}  // namespace shunt::zdnn
