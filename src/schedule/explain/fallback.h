// The definition of fallback, for all reports of it.
#pragma once

#include "shunt/plan.h"

namespace shunt {

/// Why a node is not on the best device that refused it; null if none did. A device whose memory is
/// the host's only helps the CPU, and a node that could run elsewhere but does not has not been
/// refused.
const PassedOver* fallback_cause(const Placement& placement, NodeId node);

}  // namespace shunt
