#include "backends/cann/fusion.h"

namespace shunt::cann {

std::span<const Pattern> fused_patterns() {
  return {};
}

}  // namespace shunt::cann
