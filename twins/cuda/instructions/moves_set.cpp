// setp and set: comparisons, with their results in predicates or in a register.
#include <string>
#include <utility>

#include "cuda/instructions/apply.h"
#include "cuda/instructions/comparisons.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/moves.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

constexpr std::string_view kCompareNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                              "lo",  "ls",  "hi",  "hs",  "equ", "neu",
                                              "ltu", "leu", "gtu", "geu", "num", "nan"};

/// The modifiers and operands before the types: CmpOp.BoolOp.ftz
struct SetModifiers {
  std::string_view compare;
  BoolOp bool_op = BoolOp::kNone;
  bool ftz = false;
};

bool take_set_modifiers(Binder& binder, SetModifiers& set) {
  const auto compare = binder.take_one_of(kCompareNames);
  if (!compare) return binder.fail("needs a comparison operator");
  set.compare = kCompareNames[*compare];
  const auto bool_op = binder.take_one_of({"and", "or", "xor"});
  if (bool_op) set.bool_op = static_cast<BoolOp>(*bool_op + 1);
  set.ftz = binder.take("ftz");
  return true;
}

/// PTX version and capability of comparisons of 16-bit floats.
bool need_compared(Binder& binder, ptx::Type type) {
  if (type == kF16 || type == kF16x2) return binder.need({4, 2}, 53);
  if (type == kBf16 || type == kBf16x2) return binder.need({7, 8}, 90);
  return type != kF64 || binder.need({1, 4}, 13);
}

/// The operator for operands of this type; null, and the error set, if there is none.
const CompareOp* compare_for(Binder& binder, const SetModifiers& set, ptx::Type type) {
  if (binder.failed() || !need_compared(binder, type)) return nullptr;
  if (set.ftz && type != kF32 && type != kF16 && type != kF16x2) {
    binder.fail(".ftz needs operands of .f32, .f16 or .f16x2");
    return nullptr;
  }
  const CompareOp* compare = compare_op(set.compare, type);
  if (compare == nullptr) {
    binder.fail("no ." + ptx::shown(set.compare) + " of ." + std::string(ptx::name_of(type)));
  }
  return compare;
}

/// Sources 1 and 2 in the order of the comparison, and the predicate 3 after a Boolean operator.
struct SetSources {
  Arg a, b, with;
};
SetSources set_sources(Binder& binder, const SetModifiers& set, const CompareOp& compare,
                       ptx::Type type) {
  SetSources sources{binder.source(1, type), binder.source(2, type), {}};
  if (compare.swap) std::swap(sources.a, sources.b);
  if (set.bool_op != BoolOp::kNone) sources.with = binder.predicate_source(3);
  return sources;
}

// --- Of packed operands: both halves are compared.

struct HalfCompares {
  Compare low = nullptr, high = nullptr;
};
/// Op::immediate, for compares_in().
std::int64_t compared_as(ptx::Type type, const CompareOp& compare, bool ftz) {
  return static_cast<std::int64_t>(type) | static_cast<std::int64_t>(compare.relation) << 8 |
         static_cast<std::int64_t>(ftz) << 16;
}
HalfCompares compares_in(const Op& op) {
  const auto type = static_cast<ptx::Type>(op.immediate & 0xFF);
  const auto relation = static_cast<Relation>(op.immediate >> 8 & 0xFF);
  const bool ftz = op.immediate >> 16 != 0;
  return {comparison_of(type, relation, ftz, false).lanes,
          comparison_of(type, relation, ftz, true).lanes};
}

Next run_setp_halves(Warp& warp, const Op& op, LaneMask active) {
  const LaneMask flip = 0 - (op.extra & 1u);
  const HalfCompares compares = compares_in(op);
  const LaneMask low = compares.low(warp, op.args[1], op.args[2]) ^ flip;
  const LaneMask high = compares.high(warp, op.args[1], op.args[2]) ^ flip;
  write_predicates(warp, op, active, low, high);
  return Next::kOn;
}

/// The predicates after the Boolean operator of set.
LaneMask set_result(const Warp& warp, const Op& op, LaneMask compared) {
  const LaneMask flip = 0 - (op.extra & 1u);
  const auto bool_op = static_cast<BoolOp>(op.extra >> 1);
  const LaneMask with = bool_op == BoolOp::kNone ? 0 : predicate_of(warp, op.args[3]);
  return combined(bool_op, compared ^ flip, with);
}

/// "True" of a set's result, which is Op::more[0]: a constant.
Next run_set(Warp& warp, const Op& op, LaneMask active) {
  const LaneMask low = set_result(warp, op, compares_in(op).low(warp, op.args[1], op.args[2]));
  const std::uint32_t* one = lanes_of<std::uint32_t>(warp, op.more[0]);
  each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), active,
            [=](unsigned i) { return (low >> i & 1u) != 0 ? one[i] : 0u; });
  return Next::kOn;
}
Next run_set_halves(Warp& warp, const Op& op, LaneMask active) {
  const HalfCompares compares = compares_in(op);
  const LaneMask low = set_result(warp, op, compares.low(warp, op.args[1], op.args[2]));
  const LaneMask high = set_result(warp, op, compares.high(warp, op.args[1], op.args[2]));
  const std::uint32_t* one = lanes_of<std::uint32_t>(warp, op.more[0]);
  each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), active, [=](unsigned i) {
    const std::uint32_t below = (low >> i & 1u) != 0 ? one[i] & 0xFFFFu : 0u;
    const std::uint32_t above = (high >> i & 1u) != 0 ? one[i] & 0xFFFF0000u : 0u;
    return below | above;
  });
  return Next::kOn;
}

std::uint32_t true_of(ptx::Type type) {
  switch (type) {
    case kF32:
      return 0x3F800000u;
    case kF16:
      return 0x3C00u;
    case kBf16:
      return 0x3F80u;
    case kF16x2:
      return 0x3C003C00u;
    case kBf16x2:
      return 0x3F803F80u;
    case kU16:
    case kS16:
      return 0xFFFFu;
    default:
      return 0xFFFFFFFFu;
  }
}

/// Which types a set may have. A 16-bit integer is the result of 16-bit floats only.
bool is_set_form(ptx::Type to, ptx::Type from) {
  switch (from) {
    case kF16x2:
      return to == kF16x2 || to == kU32 || to == kS32;
    case kBf16x2:
      return to == kBf16x2 || to == kU32 || to == kS32;
    case kF16:
      return to != kF32 && to != kF16x2 && to != kBf16x2;
    case kBf16:
      return to != kF16 && to != kF32 && to != kF16x2 && to != kBf16x2;
    default:
      return to == kU32 || to == kS32 || to == kF32 || to == kF16 || to == kBf16;
  }
}

/// PTX version and capability of a set beyond those of its operands.
bool need_set(Binder& binder, ptx::Type to, ptx::Type from) {
  if (to == kF16) return binder.need({4, 2}, 53);
  if (to == kBf16) return binder.need({7, 8}, 90);
  const bool halves = from == kF16 || from == kF16x2;
  return !halves || to == kF16x2 || binder.need({6, 5}, 53);
}

OpKind kind_of_compare(ptx::Type type) {
  if (type == kF32) return OpKind::kFloat;
  if (type == kF64) return OpKind::kDouble;
  return ptx::kind_of(type) == ptx::Kind::kFloat ? OpKind::kHalf : OpKind::kInteger;
}

bool emit_setp(Binder& binder, const SetModifiers& set, const CompareOp& compare, ptx::Type type) {
  const ptx::Operand& to = binder.operand(0);
  const bool pair = to.kind == ptx::Operand::Kind::kPair;
  if (is_packed(type) && !pair) return binder.fail("needs destinations p|q");
  if (pair && (type == kF16 || type == kBf16)) return binder.fail("has one destination");
  const Arg p = binder.predicate_destination(pair ? to.items[0] : to);
  const Arg q = pair ? binder.predicate_destination(to.items[1]) : Arg{};
  const SetSources sources = set_sources(binder, set, compare, type);
  if (binder.failed()) return false;
  const Comparison& comparison = comparison_of(type, compare.relation, set.ftz, false);
  Op& op = binder.emit(is_packed(type) ? run_setp_halves : comparison.setp, kind_of_compare(type),
                       {p, sources.a, sources.b, sources.with});
  if (pair) binder.more(op, {&q, 1});
  op.extra = set_extra(compare.complement, set.bool_op);
  op.immediate = compared_as(type, compare, set.ftz);
  return binder.finish();
}

}  // namespace

bool bind_setp(Binder& binder) {
  SetModifiers set;
  if (!take_set_modifiers(binder, set)) return false;
  const ptx::Type type = binder.take_type({kB16, kB32, kB64, kU16, kU32, kU64, kS16, kS32, kS64,
                                           kF32, kF64, kF16, kBf16, kF16x2, kBf16x2});
  const CompareOp* compare = compare_for(binder, set, type);
  const std::size_t operands = set.bool_op == BoolOp::kNone ? 3 : 4;
  if (compare == nullptr || !binder.expect_operands(operands, operands)) return false;
  return emit_setp(binder, set, *compare, type);
}

bool bind_set(Binder& binder) {
  SetModifiers set;
  if (!take_set_modifiers(binder, set)) return false;
  const ptx::Type to =
      binder.take_type({kU32, kS32, kF32, kU16, kS16, kF16, kBf16, kF16x2, kBf16x2});
  const ptx::Type type = binder.take_type({kB16, kB32, kB64, kU16, kU32, kU64, kS16, kS32, kS64,
                                           kF32, kF64, kF16, kBf16, kF16x2, kBf16x2});
  const CompareOp* compare = compare_for(binder, set, type);
  const std::size_t operands = set.bool_op == BoolOp::kNone ? 3 : 4;
  if (compare == nullptr || !binder.expect_operands(operands, operands)) return false;
  if (!is_set_form(to, type)) return binder.fail("no such pair of types");
  if (set.ftz && to == kBf16) return binder.fail("a .bf16 result has no .ftz");
  if (!need_set(binder, to, type)) return false;
  const Arg result = binder.destination(0, to);
  const SetSources sources = set_sources(binder, set, *compare, type);
  const Arg one = binder.literal(true_of(to), 4);
  if (binder.failed()) return false;
  Op& op = binder.emit(is_packed(type) ? run_set_halves : run_set, kind_of_compare(type),
                       {result, sources.a, sources.b, sources.with});
  binder.more(op, {&one, 1});
  op.extra = set_extra(compare->complement, set.bool_op);
  op.immediate = compared_as(type, *compare, set.ftz);
  return binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
