// The comparisons of setp and set: for each type a mask of the lanes where a relation holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cuda/instructions/bools.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

using Compare = LaneMask (*)(Warp& warp, const Arg& a, const Arg& b);

/// The relations from which all others are made: a > b is b < a, and an unordered one is the
/// complement of its opposite. The last two are of floats.
enum class Relation : std::uint8_t { kEqual, kLess, kLessEqual, kNotEqual, kNan };

/// The lanes where it holds, and the handler of setp. The handler's operands are p, a, b, c, and q
/// in Op::more if there is one; Op::extra is set_extra().
struct Comparison {
  Compare lanes;
  Handler setp;
};

/// Of an operand type: `ftz` for f32, f16 and f16x2; `high`: the upper half of a packed type. The
/// relations of integers are the first three.
const Comparison& comparison_of(ptx::Type type, Relation relation, bool ftz, bool high);

inline std::uint32_t set_extra(bool complement, BoolOp bool_op) {
  return (complement ? 1u : 0u) | static_cast<std::uint32_t>(bool_op) << 1;
}
/// Writes p and q of a setp from results before the Boolean operator.
void write_predicates(Warp& warp, const Op& op, LaneMask active, LaneMask p, LaneMask q);

/// ".lt" and its like.
struct CompareOp {
  enum class Of : std::uint8_t { kAll, kNumbers, kUnsigned, kFloats };
  std::string_view name;
  Of of;
  Relation relation;
  bool swap;        ///< of b and a
  bool complement;  ///< where the relation does not hold
};
/// The operator of this name for values of this type; null if there is none.
const CompareOp* compare_op(std::string_view name, ptx::Type type);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
