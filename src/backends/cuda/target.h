// The facts about a device that kernels need.
#pragma once

#include <cstdint>

namespace shunt::cuda {

/// A set of instructions, which the compute capability decides. Modules are compiled for each
/// level.
enum class Level : std::uint8_t {
  kBase,  ///< 6.1: 32-bit arithmetic, dp4a, shuffles
};

struct CudaTarget {
  int capability = 0;  ///< 86: compute capability 8.6
  int multiprocessors = 1;
  Level level = Level::kBase;
};

}  // namespace shunt::cuda
