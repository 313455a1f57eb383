// Shared by the files of the floats family: the modifiers of an arithmetic instruction, and the
// rows that floats.cpp joins.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "cuda/instructions/float_values.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

inline constexpr std::initializer_list<ptx::Type> kAllFloats = {
    ptx::Type::kF16,    ptx::Type::kF16x2, ptx::Type::kBf16,
    ptx::Type::kBf16x2, ptx::Type::kF32,   ptx::Type::kF64};
/// Those of sums and products.
inline constexpr std::initializer_list<ptx::Type> kArithmeticFloats = {
    ptx::Type::kF16, ptx::Type::kF16x2, ptx::Type::kBf16, ptx::Type::kBf16x2,
    ptx::Type::kF32, ptx::Type::kF32x2, ptx::Type::kF64};

/// {.rn .rz .rm .rp}{.ftz}{.sat}{.relu}.type
struct FloatForm {
  std::optional<Rounding> rounding;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
  ptx::Type type = ptx::Type::kNone;

  bool is_half() const { return type == ptx::Type::kF16 || type == ptx::Type::kF16x2 || is_bf16(); }
  bool is_bf16() const { return type == ptx::Type::kBf16 || type == ptx::Type::kBf16x2; }
  bool is_packed() const { return type == ptx::Type::kF16x2 || type == ptx::Type::kBf16x2; }
};

/// Reads the modifiers; refuses those that no instruction of the type has. float_forms.cpp
std::optional<FloatForm> read_float_form(Binder& binder, std::initializer_list<ptx::Type> types);

/// Emits an op with a destination and `inputs` sources of one type, and finishes the instruction.
bool emit_float(Binder& binder, Handler run, ptx::Type type, unsigned inputs,
                std::uint32_t extra = 0);

enum class HalfOperation : std::uint8_t { kAdd, kSub, kMul, kFma };
bool bind_half_arithmetic(Binder& binder, const FloatForm& form, HalfOperation operation);

/// add sub mul fma of .f32x2, and add sub fma of .f32.f16 and .f32.bf16. float_mixed.cpp
bool is_pair_or_mixed(const Binder& binder, const FloatForm& form);
bool bind_pair_or_mixed(Binder& binder, const FloatForm& form, HalfOperation operation);

/// For the approximate forms of opcodes that have others too. The modifiers after .approx or .full
/// are still to be read.
bool bind_approximate_divide(Binder& binder, bool full_range);
bool bind_approximate_rcp(Binder& binder);
bool bind_approximate_sqrt(Binder& binder);

/// Is the type of the instruction, its last modifier, one of floats?
bool has_float_type(const ptx::Instruction& instruction);

std::span<const Opcode> float_arithmetic_opcodes();
std::span<const Opcode> float_comparison_opcodes();  // min max abs neg copysign testp
std::span<const Opcode> approximation_opcodes();     // rsqrt sin cos lg2 ex2 tanh

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
