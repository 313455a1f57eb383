// The forms of add, sub and mad that set or use the carry flag. A difference is a + ~b + 1, and its
// flag is the carry of that sum: set where nothing was borrowed, as on the vendor's devices.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/integer.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

// Op::extra: where the carry in comes from, and whether the carry out is kept. The flag is
// Op::more[0].
constexpr std::uint32_t kCarryOne = 1, kCarryFlag = 2, kCarryOut = 4;

LaneMask carry_in(const Warp& warp, const Op& op) {
  if ((op.extra & kCarryFlag) != 0) return predicate_of(warp, op.more[0]);
  return (op.extra & kCarryOne) != 0 ? kAllLanes : 0;
}

/// to = left(i) + right(i) + carry. `left` and `right` are addends of lane i.
template <class Word, class Left, class Right>
[[gnu::always_inline]] inline Next add_with_carry(Warp& warp, const Op& op, LaneMask active,
                                                  Left left, Right right) {
  const LaneMask carry = carry_in(warp, op);
  Word sums[kLanes];
  LaneMask out = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const Word a = left(i);
    const Word b = right(i);
    sums[i] = a + b + (carry >> i & 1u);
    const Word carries = (a & b) | ((a | b) & ~sums[i]);
    out |= static_cast<LaneMask>(carries >> (kBits<Word> - 1)) << i;
  }
  each_lane(lanes_of<Word>(warp, op.args[0]), active, [&](unsigned i) { return sums[i]; });
  if ((op.extra & kCarryOut) != 0) set_predicate(warp, op.more[0], out, active);
  return Next::kOn;
}

template <class Word, bool subtract>
Next run_carry_sum(Warp& warp, const Op& op, LaneMask active) {
  const Word* a = lanes_of<Word>(warp, op.args[1]);
  const Word* b = lanes_of<Word>(warp, op.args[2]);
  return add_with_carry<Word>(
      warp, op, active, [=](unsigned i) { return a[i]; },
      [=](unsigned i) { return subtract ? ~b[i] : b[i]; });
}

template <class Value, bool high>
Next run_carry_mad(Warp& warp, const Op& op, LaneMask active) {
  using Word = Wrap<Value>;
  const Word* a = lanes_of<Word>(warp, op.args[1]);
  const Word* b = lanes_of<Word>(warp, op.args[2]);
  const Word* c = lanes_of<Word>(warp, op.args[3]);
  return add_with_carry<Word>(
      warp, op, active,
      [=](unsigned i) {
        const auto x = static_cast<Value>(a[i]);
        const auto y = static_cast<Value>(b[i]);
        return wrap(high ? upper_half(x, y) : wrapped_product(x, y));
      },
      [=](unsigned i) { return c[i]; });
}

ptx::Type take_carry_type(Binder& binder) {
  const ptx::Type type = binder.take_type({kU32, kS32, kU64, kS64});
  if (type == kU64 || type == kS64) binder.need({4, 3});
  return type;
}

/// The end of a grammar: operands, flag and the op.
bool emit_carry(Binder& binder, Handler run, ptx::Type type, std::size_t operands,
                std::uint32_t extra) {
  if (binder.failed() || !binder.expect_operands(operands, operands)) return false;
  const Arg to = binder.destination(0, type);
  Arg from[3];
  for (std::size_t i = 1; i < operands; ++i) from[i - 1] = binder.source(i, type);
  const Arg flag = binder.carry();
  if (binder.failed()) return false;
  Op& op = binder.emit(run, OpKind::kInteger, {to, from[0], from[1], from[2]});
  binder.more(op, {&flag, 1});
  op.extra = extra;
  return binder.finish();
}

template <bool subtract>
bool bind_carry_sum(Binder& binder, std::uint32_t carry_from) {
  const bool out = binder.take("cc");
  const ptx::Type type = take_carry_type(binder);
  const bool wide = ptx::bits_of(type) == 64;
  return emit_carry(
      binder,
      wide ? run_carry_sum<std::uint64_t, subtract> : run_carry_sum<std::uint32_t, subtract>, type,
      3, carry_from | (out ? kCarryOut : 0));
}

Handler carry_mad_handler(ptx::Type type, bool high) {
  switch (type) {
    case kU32:
      return high ? run_carry_mad<std::uint32_t, true> : run_carry_mad<std::uint32_t, false>;
    case kS32:
      return high ? run_carry_mad<std::int32_t, true> : run_carry_mad<std::int32_t, false>;
    case kU64:
      return high ? run_carry_mad<std::uint64_t, true> : run_carry_mad<std::uint64_t, false>;
    default:
      return high ? run_carry_mad<std::int64_t, true> : run_carry_mad<std::int64_t, false>;
  }
}

bool bind_carry_mad(Binder& binder, std::uint32_t carry_from, bool must_set) {
  const auto mode = binder.take_first_of({"lo", "hi"});
  if (!mode) return binder.fail("needs .lo or .hi");
  const bool out = binder.take("cc");
  if (must_set && !out) return binder.fail("needs .cc after .lo or .hi");
  const ptx::Type type = take_carry_type(binder);
  return emit_carry(binder, carry_mad_handler(type, *mode == 1), type, 4,
                    carry_from | (out ? kCarryOut : 0));
}

}  // namespace

bool bind_add_cc(Binder& binder) {
  return binder.need({1, 2}) && bind_carry_sum<false>(binder, 0);
}
bool bind_addc(Binder& binder) {
  return bind_carry_sum<false>(binder, kCarryFlag);
}
bool bind_sub_cc(Binder& binder) {
  return binder.need({1, 2}) && bind_carry_sum<true>(binder, kCarryOne);
}
bool bind_subc(Binder& binder) {
  return bind_carry_sum<true>(binder, kCarryFlag);
}
bool bind_mad_cc(Binder& binder) {
  return binder.need({3, 0}, 20) && bind_carry_mad(binder, 0, true);
}
bool bind_madc(Binder& binder) {
  return bind_carry_mad(binder, kCarryFlag, false);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
