// Loops that do nothing but the work that one of the processor's units can do most of: the
// reference for kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/cpu/simd/level.h"
#include "shunt/peaks.h"

namespace shunt::cpu::simd {

/// Arithmetic in registers, in kPeakChains chains that depend on nothing but themselves: enough of
/// them that no unit waits for a result of its own.
struct PeakLoop {
  Peak peak = Peak::kF32;
  std::string_view unit;      ///< for people: "AVX-512 VNNI"
  std::string_view level;     ///< of level.h that it belongs to
  bool stands_in = false;     ///< made for something else
  bool (*there)() = nullptr;  ///< whether the machine has it
  /// Operations done in `rounds` rounds.
  double (*run)(Level level, std::int64_t rounds) = nullptr;
};
inline constexpr int kPeakChains = 12;

/// The best for a kind of arithmetic that the machine has, up to a level.
const PeakLoop& peak_loop(Level level, Peak peak);

/// Those with instructions of x86-64, best first; none elsewhere.
std::span<const PeakLoop> x86_peak_loops();

/// Reads memory, whose size is a multiple of kReadStep, with the widest loads of the level.
void read_memory(Level level, std::span<const std::byte> memory);
inline constexpr std::size_t kReadStep = 4096;

/// Makes the compiler assume that the memory at `result` is read.
inline void keep_result(const void* result) {
  asm volatile("" : : "r"(result) : "memory");
}

}  // namespace shunt::cpu::simd
