#include "cuda/instructions/comparisons.h"

#include <array>

#include "cuda/instructions/apply.h"
#include "cuda/instructions/floats_in.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Value>
struct ReadInteger {
  using Lane = cuda_twin::CUDA_TWIN_LEVEL::Lane<Value>;
  [[gnu::always_inline]] static Value read(Lane lane) { return static_cast<Value>(lane); }
};

template <Relation relation, class Value>
[[gnu::always_inline]] inline bool holds(Value a, Value b) {
  if constexpr (relation == Relation::kEqual) return a == b;
  if constexpr (relation == Relation::kLess) return a < b;
  if constexpr (relation == Relation::kLessEqual) return a <= b;
  if constexpr (relation == Relation::kNotEqual) return (a < b) | (b < a);
  if constexpr (relation == Relation::kNan) return __builtin_isunordered(a, b);
}

template <class Reader, Relation relation>
[[gnu::always_inline]] inline LaneMask compared(Warp& warp, const Arg& a, const Arg& b) {
  const auto* left = lanes_of<typename Reader::Lane>(warp, a);
  const auto* right = lanes_of<typename Reader::Lane>(warp, b);
  return lanes_where(
      [=](unsigned i) { return holds<relation>(Reader::read(left[i]), Reader::read(right[i])); });
}

template <class Reader, Relation relation>
LaneMask run_compare(Warp& warp, const Arg& a, const Arg& b) {
  return compared<Reader, relation>(warp, a, b);
}

template <class Reader, Relation relation>
Next run_setp(Warp& warp, const Op& op, LaneMask active) {
  const LaneMask flip = 0 - (op.extra & 1u);
  const LaneMask result = compared<Reader, relation>(warp, op.args[1], op.args[2]) ^ flip;
  if (op.extra < 2 && op.count_more == 0) {
    set_predicate(warp, op.args[0], result, active);
  } else {
    write_predicates(warp, op, active, result, ~result);
  }
  return Next::kOn;
}

using Comparisons = std::array<Comparison, 5>;

template <class Reader, Relation... relations>
constexpr Comparisons comparisons_by() {
  return {{{run_compare<Reader, relations>, run_setp<Reader, relations>}...}};
}
template <class Value>
constexpr Comparisons kIntegers =
    comparisons_by<ReadInteger<Value>, Relation::kEqual, Relation::kLess, Relation::kLessEqual>();
template <class Reader>
constexpr Comparisons kFloats =
    comparisons_by<Reader, Relation::kEqual, Relation::kLess, Relation::kLessEqual,
                   Relation::kNotEqual, Relation::kNan>();

const Comparisons& halves_of(bool ftz, bool high) {
  if (ftz) return high ? kFloats<ReadHalf<true, 16>> : kFloats<ReadHalf<true, 0>>;
  return high ? kFloats<ReadHalf<false, 16>> : kFloats<ReadHalf<false, 0>>;
}

const Comparisons& comparisons_of(ptx::Type type, bool ftz, bool high) {
  switch (type) {
    case kB16:
    case kU16:
      return kIntegers<std::uint16_t>;
    case kS16:
      return kIntegers<std::int16_t>;
    case kS32:
      return kIntegers<std::int32_t>;
    case kB64:
    case kU64:
      return kIntegers<std::uint64_t>;
    case kS64:
      return kIntegers<std::int64_t>;
    case kF32:
      return ftz ? kFloats<ReadFloat<true>> : kFloats<ReadFloat<false>>;
    case kF64:
      return kFloats<ReadDouble>;
    case kF16:
    case kF16x2:
      return halves_of(ftz, high);
    case kBf16:
    case kBf16x2:
      return high ? kFloats<ReadBf16<16>> : kFloats<ReadBf16<0>>;
    default:
      return kIntegers<std::uint32_t>;
  }
}

constexpr CompareOp kCompareOps[] = {
    {"eq", CompareOp::Of::kAll, Relation::kEqual, false, false},
    {"ne", CompareOp::Of::kAll, Relation::kEqual, false, true},  // of integers; see compare_op()
    {"lt", CompareOp::Of::kNumbers, Relation::kLess, false, false},
    {"le", CompareOp::Of::kNumbers, Relation::kLessEqual, false, false},
    {"gt", CompareOp::Of::kNumbers, Relation::kLess, true, false},
    {"ge", CompareOp::Of::kNumbers, Relation::kLessEqual, true, false},
    {"lo", CompareOp::Of::kUnsigned, Relation::kLess, false, false},
    {"ls", CompareOp::Of::kUnsigned, Relation::kLessEqual, false, false},
    {"hi", CompareOp::Of::kUnsigned, Relation::kLess, true, false},
    {"hs", CompareOp::Of::kUnsigned, Relation::kLessEqual, true, false},
    {"equ", CompareOp::Of::kFloats, Relation::kNotEqual, false, true},
    {"neu", CompareOp::Of::kFloats, Relation::kEqual, false, true},
    {"ltu", CompareOp::Of::kFloats, Relation::kLessEqual, true, true},
    {"leu", CompareOp::Of::kFloats, Relation::kLess, true, true},
    {"gtu", CompareOp::Of::kFloats, Relation::kLessEqual, false, true},
    {"geu", CompareOp::Of::kFloats, Relation::kLess, false, true},
    {"num", CompareOp::Of::kFloats, Relation::kNan, false, true},
    {"nan", CompareOp::Of::kFloats, Relation::kNan, false, false},
};
constexpr CompareOp kOrderedNotEqual = {"ne", CompareOp::Of::kFloats, Relation::kNotEqual, false,
                                        false};

bool compares(CompareOp::Of of, ptx::Type type) {
  const ptx::Kind kind = ptx::kind_of(type);
  switch (of) {
    case CompareOp::Of::kAll:
      return true;
    case CompareOp::Of::kNumbers:
      return kind != ptx::Kind::kBits;
    case CompareOp::Of::kUnsigned:
      return kind == ptx::Kind::kUnsigned;
    case CompareOp::Of::kFloats:
      return kind == ptx::Kind::kFloat;
  }
  return false;
}

}  // namespace

const Comparison& comparison_of(ptx::Type type, Relation relation, bool ftz, bool high) {
  return comparisons_of(type, ftz, high)[static_cast<std::size_t>(relation)];
}

void write_predicates(Warp& warp, const Op& op, LaneMask active, LaneMask p, LaneMask q) {
  const auto bool_op = static_cast<BoolOp>(op.extra >> 1);
  const LaneMask with = bool_op == BoolOp::kNone ? 0 : predicate_of(warp, op.args[3]);
  set_predicate(warp, op.args[0], combined(bool_op, p, with), active);
  if (op.count_more != 0) set_predicate(warp, op.more[0], combined(bool_op, q, with), active);
}

const CompareOp* compare_op(std::string_view name, ptx::Type type) {
  if (name == "ne" && ptx::kind_of(type) == ptx::Kind::kFloat) return &kOrderedNotEqual;
  for (const CompareOp& row : kCompareOps) {
    if (row.name == name && compares(row.of, type)) return &row;
  }
  return nullptr;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
