// The facts about a device that kernels need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace shunt::cuda {

/// A set of instructions. Kernel files are compiled for kBase, and some for higher levels.
enum class Level : std::uint8_t {
  kBase,    ///< 32-bit arithmetic, dp4a, shuffles
  kTensor,  ///< mma.sync
};

struct LevelRow {
  Level level;
  std::string_view name;
  int capability;  ///< the oldest compute capability that has it; 61: 6.1
};
/// From the lowest on. kernels.cmake has the flags of each.
inline constexpr std::array kLevels = {LevelRow{Level::kBase, "base", 61},
                                       LevelRow{Level::kTensor, "tensor", 80}};
constexpr const LevelRow& row_of(Level level) {
  return *std::ranges::find(kLevels, level, &LevelRow::level);
}

struct CudaTarget {
  int capability = 0;  ///< 86: compute capability 8.6
  int multiprocessors = 1;
  Level level = Level::kBase;
};

}  // namespace shunt::cuda
