#pragma once

#include "backends/cpu/simd/level.h"

namespace shunt::cpu {

/// Kernels are asked about their node and this: how a device computes.
struct CpuTarget {
  simd::Level level = {};
  /// Whether a column of a product must not depend on how many others there are.
  bool batch_invariant = false;
};

}  // namespace shunt::cpu
