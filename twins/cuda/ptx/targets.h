// The names that .target may have.
#pragma once

#include <string>
#include <string_view>

#include "cuda/ptx/types.h"

namespace cuda_twin::ptx {

/// "sm_90a".
std::string name_of(const Target& target);

struct NamedTarget {
  Target target;
  Version needed;  ///< the first .version that has the target
};
/// Nothing for a name that is no architecture.
std::optional<NamedTarget> target_named(std::string_view name);
/// texmode_unified and its like: stand after the architecture, and mean nothing to the twin.
bool is_target_option(std::string_view name);

/// Whether code for the target runs on a device of capability `sm`.
bool runs_on(const Target& target, int sm);

}  // namespace cuda_twin::ptx
