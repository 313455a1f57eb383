// Failures on request: the n-th event of a kind fails, or the n-th and all after it.
#pragma once

#include <cstdint>

#include "settings.h"

namespace zdnn_twin {

/// In a fault's number: not only the n-th.
inline constexpr std::int64_t kAndAllAfter = std::int64_t{1} << 62;

/// Counts one event of this kind of fault, and says whether it is to fail.
bool fault_is_due(Setting fault);

/// Begins to count from the start.
void restart_faults(Setting fault);

}  // namespace zdnn_twin
