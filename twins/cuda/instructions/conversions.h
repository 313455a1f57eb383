// The parts of cvt: its modifiers, and the handlers for each pair of kinds. Float handlers work on
// registers of the types' own sizes; conversions.cpp puts resize() before or after them where a
// register is wider.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cuda/instructions/float_values.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

struct CvtForm {
  std::optional<Rounding> rounding;          ///< rn rz rm rp
  std::optional<Rounding> integer_rounding;  ///< rni rzi rmi rpi
  bool away = false;                         ///< rna
  bool stochastic = false;                   ///< rs
  bool ftz = false, sat = false, relu = false, satfinite = false;
  ptx::Type to = ptx::Type::kNone, from = ptx::Type::kNone;
};

// Op::extra of conversions with floats.
inline constexpr std::uint32_t kCvtRounding = 3;  ///< of either kind
inline constexpr std::uint32_t kCvtInteger = 4;   ///< rounds to an integer
inline constexpr std::uint32_t kCvtFtz = 8, kCvtSat = 16, kCvtRelu = 32, kCvtSatfinite = 64;
std::uint32_t flags_of(const CvtForm& form);

/// Op::immediate of some conversions: the address of a plan that the program owns.
template <class Plan>
const Plan& plan_of(const Op& op) {
  return *std::bit_cast<const Plan*>(op.immediate);
}
template <class Plan>
void set_plan(Binder& binder, Op& op, std::shared_ptr<const Plan> plan) {
  op.immediate = std::bit_cast<std::int64_t>(plan.get());
  binder.own(std::move(plan));
}

inline bool is_float(ptx::Type type) {
  return ptx::kind_of(type) == ptx::Kind::kFloat;
}
inline bool is_signed(ptx::Type type) {
  return ptx::kind_of(type) == ptx::Kind::kSigned;
}

/// The op's part of `from` (its type's bits) as `to`, in a register of `register_bits`: the low
/// bits, or the nearest value if `saturate`. convert_integers.cpp
void emit_resize(Binder& binder, const Arg& to, ptx::Type to_type, unsigned register_bits,
                 const Arg& from, ptx::Type from_type, bool saturate);
bool bind_cvt_pack(Binder& binder);

/// f16 bf16 f32 f64, each from each. convert_floats.cpp
Handler float_to_float(const CvtForm& form);
/// tf32 and packed floats. convert_packed.cpp
bool bind_cvt_packed(Binder& binder, const CvtForm& form);
bool is_packed_cvt(const CvtForm& form);
/// An op with one register for each input.
bool emit_packed(Binder& binder, const CvtForm& form, Handler run, unsigned inputs);
/// Pairs of floats of 4, 6 and 8 bits. convert_bytes.cpp
bool bind_cvt_bytes(Binder& binder, const CvtForm& form);
bool is_bytes(ptx::Type type);
/// .rs. convert_stochastic.cpp
bool bind_cvt_stochastic(Binder& binder, const CvtForm& form);

/// Integers of 32 or 64 bits to floats. convert_mixed.cpp
Handler integer_to_float(const CvtForm& form, bool is_signed, unsigned bits);
/// To an integer as 32 bits, extended, or 64. `binder` owns the limits.
void emit_float_to_integer(Binder& binder, const CvtForm& form, const Arg& to, const Arg& from);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
