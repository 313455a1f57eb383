// mma.sync: the forms, as data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"
#include "cuda/ptx/types.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// A type of A's or B's elements, which fill registers of 32 bits.
enum class MmaFamily : std::uint8_t { kF16, kBf16, kTf32, kF8, kI8, kI4, kB1, kF64 };

struct Multiplicand {
  std::string_view name;
  MmaFamily family = MmaFamily::kF16;  ///< both multiplicands must be of one
  unsigned elements = 0;               ///< of a register
  void (*rows)(const std::uint32_t* lanes, float* to, unsigned stride) = nullptr;
  void (*columns)(const std::uint32_t* lanes, float* to) = nullptr;
};

enum class Accumulate : std::uint8_t { kFloat, kHalf, kInteger, kDouble, kBits };

/// Data of one instruction for its handler; Op::immediate points to it. Op::more has the
/// registers of D, A, B and C, in this order.
struct MmaPlan {
  const Multiplicand* a = nullptr;
  const Multiplicand* b = nullptr;
  unsigned rows = 0, k = 0;
  unsigned d_registers = 0, a_registers = 0, b_registers = 0;
  bool saturate = false;     ///< .satfinite
  bool conjunction = false;  ///< .and.popc instead of .xor.popc
};

/// Appends the registers of one fragment to `to`, in the order of the operand's items.
bool append_fragment(Binder& binder, std::size_t index, std::size_t count, ptx::Type type,
                     bool is_destination, std::vector<Arg>* to);
bool bind_mma(Binder& binder);
/// m8n8k4 of f16: four products at once, with a layout of its own.
bool is_mma_of_quads(const ptx::Instruction& instruction);
bool bind_mma_quads(Binder& binder);
Next mma_float(Warp& warp, const Op& op, LaneMask active);
Next mma_integer(Warp& warp, const Op& op, LaneMask active);
Next mma_double(Warp& warp, const Op& op, LaneMask active);
Next mma_bits(Warp& warp, const Op& op, LaneMask active);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
