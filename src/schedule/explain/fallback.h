// The definition of fallback, for all reports of it.
#pragma once

#include <string>

#include "shunt/explain.h"
#include "shunt/plan.h"

namespace shunt {

/// Why a node is not on the best device that refused it; null if none did. A device whose memory is
/// the host's only helps the CPU, and a node that could run elsewhere but does not has not been
/// refused.
const RejectedCandidate* fallback_cause(const Placement& placement, NodeId node);

// For reports with at least one fallback:

/// "cpu0 instead of cuda0".
std::string fallback_devices(const FallbackReport& report);
/// "a kernel for it would change that, and --transcode precise for 15 others".
std::string fallback_remedies(const FallbackReport& report);

}  // namespace shunt
