#pragma once

#include "backends/cpu/simd/level.h"

namespace shunt::cpu {

/// Kernels are asked about their node and this: how a device computes.
struct CpuTarget {
  simd::Level level = {};
};

}  // namespace shunt::cpu
