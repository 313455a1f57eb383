#pragma once

#include "backends/cpu/simd/level.h"

namespace shunt::cpu {

/// What kernels are asked about besides their node: how a device computes.
struct CpuTarget {
  simd::Level level = {};
};

}  // namespace shunt::cpu
