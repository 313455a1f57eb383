// and, or, xor, not, cnot and lop3.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/bits.h"
#include "cuda/instructions/bools.h"
#include "cuda/instructions/forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Word>
struct BitsAnd {
  static Word f(Word a, Word b) { return a & b; }
};
template <class Word>
struct BitsOr {
  static Word f(Word a, Word b) { return a | b; }
};
template <class Word>
struct BitsXor {
  static Word f(Word a, Word b) { return a ^ b; }
};
template <class Word>
Word bits_not(Word a) {
  return static_cast<Word>(~a);
}
template <class Word>
Word bits_cnot(Word a) {
  return a == 0 ? 1 : 0;
}

template <LaneMask (*f)(LaneMask, LaneMask)>
Next run_predicates(Warp& warp, const Op& op, LaneMask active) {
  const LaneMask result = f(predicate_of(warp, op.args[1]), predicate_of(warp, op.args[2]));
  set_predicate(warp, op.args[0], result, active);
  return Next::kOn;
}
Next run_not_predicate(Warp& warp, const Op& op, LaneMask active) {
  set_predicate(warp, op.args[0], ~predicate_of(warp, op.args[1]), active);
  return Next::kOn;
}

bool bind_predicates(Binder& binder, Handler run, std::size_t sources) {
  binder.take("pred");
  if (!binder.expect_operands(sources + 1, sources + 1)) return false;
  const Arg to = binder.predicate_destination(0, false);
  const Arg a = binder.predicate_source(1);
  const Arg b = sources == 2 ? binder.predicate_source(2) : Arg{};
  if (binder.failed()) return false;
  binder.emit(run, OpKind::kInteger, {to, a, b});
  return binder.finish();
}

/// An operation of two predicates, and the same of registers.
template <template <class> class Function>
bool bind_logic(Binder& binder) {
  if (binder.next() == "pred") {
    return bind_predicates(binder, run_predicates<Function<LaneMask>::f>, 2);
  }
  const ptx::Type type = binder.take_type({kB16, kB32, kB64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<Function<decltype(value)>::f>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, type});
}

// --- lop3: any function of three bits, by its truth table.

/// The bits of `one` where `select` has a 1, else those of `zero`.
[[gnu::always_inline]] inline std::uint32_t choose_bits(std::uint32_t select, std::uint32_t one,
                                                        std::uint32_t zero) {
  return zero ^ ((zero ^ one) & select);
}

Next run_lop3(Warp& warp, const Op& op, LaneMask active) {
  const std::uint32_t* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const std::uint32_t* b = lanes_of<std::uint32_t>(warp, op.args[2]);
  const std::uint32_t* c = lanes_of<std::uint32_t>(warp, op.args[3]);
  std::uint32_t row[8];
  for (unsigned k = 0; k < 8; ++k) row[k] = 0 - (op.extra >> k & 1u);
  std::uint32_t result[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint32_t none = choose_bits(c[i], row[1], row[0]);
    const std::uint32_t just_b = choose_bits(c[i], row[3], row[2]);
    const std::uint32_t just_a = choose_bits(c[i], row[5], row[4]);
    const std::uint32_t both = choose_bits(c[i], row[7], row[6]);
    result[i] = choose_bits(a[i], choose_bits(b[i], both, just_a), choose_bits(b[i], just_b, none));
  }
  if (op.args[0].bank == Bank::kRegisters) {
    each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), active,
              [&](unsigned i) { return result[i]; });
  }
  if (op.count_more != 0) {
    const LaneMask set = lanes_where([&](unsigned i) { return result[i] != 0; });
    const auto bool_op = static_cast<BoolOp>(op.immediate);
    set_predicate(warp, op.more[0], combined(bool_op, set, predicate_of(warp, op.more[1])), active);
  }
  return Next::kOn;
}

/// Emits the op for sources 1 to 4; null after an error.
Op* emit_lop3(Binder& binder, const Arg& to) {
  const Arg a = binder.source(1, kB32);
  const Arg b = binder.source(2, kB32);
  const Arg c = binder.source(3, kB32);
  const auto table = binder.constant(4);
  if (table && (*table < 0 || *table > 255)) binder.fail("immLut must be from 0 to 255");
  if (!table || binder.failed()) return nullptr;
  Op& op = binder.emit(run_lop3, OpKind::kInteger, {to, a, b, c});
  op.extra = static_cast<std::uint32_t>(*table);
  return &op;
}

/// lop3.BoolOp.b32 d|p, a, b, c, immLut, q
bool bind_lop3_predicate(Binder& binder, BoolOp bool_op) {
  if (!binder.need({8, 2}, 70) || binder.take_type({kB32}) == kNone) return false;
  if (!binder.expect_operands(6, 6)) return false;
  const ptx::Operand& pair = binder.operand(0);
  if (pair.kind != ptx::Operand::Kind::kPair) return binder.fail("needs a destination d|p");
  const Arg to = binder.destination(pair.items[0], kB32, false, true);
  const Arg predicates[2] = {binder.predicate_destination(pair.items[1], false),
                             binder.predicate_source(5)};
  Op* op = emit_lop3(binder, to);
  if (op == nullptr) return false;
  binder.more(*op, predicates);
  op->immediate = static_cast<std::int64_t>(bool_op);
  return binder.finish();
}

}  // namespace

bool bind_and(Binder& binder) {
  return bind_logic<BitsAnd>(binder);
}
bool bind_or(Binder& binder) {
  return bind_logic<BitsOr>(binder);
}
bool bind_xor(Binder& binder) {
  return bind_logic<BitsXor>(binder);
}

bool bind_not(Binder& binder) {
  if (binder.next() == "pred") return bind_predicates(binder, run_not_predicate, 1);
  const ptx::Type type = binder.take_type({kB16, kB32, kB64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<bits_not<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type});
}
bool bind_cnot(Binder& binder) {
  const ptx::Type type = binder.take_type({kB16, kB32, kB64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<bits_cnot<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type});
}

bool bind_lop3(Binder& binder) {
  if (binder.take("and")) return bind_lop3_predicate(binder, BoolOp::kAnd);
  if (binder.take("or")) return bind_lop3_predicate(binder, BoolOp::kOr);
  if (binder.take_type({kB32}) == kNone || !binder.expect_operands(5, 5)) return false;
  const Arg to = binder.destination(0, kB32);
  return emit_lop3(binder, to) != nullptr && binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
