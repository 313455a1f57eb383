// The node patterns that the CPU computes at once: a file each, with the pattern, the condition and
// the kernel.
#pragma once

#include <span>

#include "backends/cpu/fusion.h"

namespace shunt::cpu {

/// A gated unit of two products of one x with two matrices.
std::optional<Fused> gated_matmul(const Surroundings& around, NodeId gated,
                                  const CpuTarget& target);
/// A sum, its norm, and that times a scale.
std::optional<Fused> added_rms_norm(const Surroundings& around, NodeId sum,
                                    const CpuTarget& target);
/// A norm times a scale.
std::optional<Fused> scaled_rms_norm(const Surroundings& around, NodeId norm,
                                     const CpuTarget& target);

/// All, in the order in which they are looked for.
std::span<const Pattern> fused_patterns();

}  // namespace shunt::cpu
