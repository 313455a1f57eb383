#include "backends/cpu/fused/patterns.h"

namespace shunt::cpu {

std::span<const Pattern> fused_patterns() {
  static constexpr Pattern kPatterns[] = {gated_matmul, added_rms_norm, scaled_rms_norm};
  return kPatterns;
}

}  // namespace shunt::cpu
