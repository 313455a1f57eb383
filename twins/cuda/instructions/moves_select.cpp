// selp and slct: one of two values by a predicate, or by a sign.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/floats_in.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/moves.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

constexpr std::initializer_list<ptx::Type> kSelected = {kB16, kB32, kB64, kU16, kU32, kU64,
                                                        kS16, kS32, kS64, kF32, kF64};

template <class Word>
Next run_selp(Warp& warp, const Op& op, LaneMask active) {
  const Word* a = lanes_of<Word>(warp, op.args[1]);
  const Word* b = lanes_of<Word>(warp, op.args[2]);
  const LaneMask first = predicate_of(warp, op.args[3]);
  each_lane(lanes_of<Word>(warp, op.args[0]), active,
            [=](unsigned i) { return (first >> i & 1u) != 0 ? a[i] : b[i]; });
  return Next::kOn;
}

template <class Word>
Word select_by_sign(Word a, Word b, std::int32_t c) {
  return c >= 0 ? a : b;
}
/// A NaN selects b. Minus zero is not below zero.
template <class Word>
Word select_by_float(Word a, Word b, float c) {
  return c >= 0.0f ? a : b;
}
template <class Word>
Word select_by_flushed(Word a, Word b, std::uint32_t c) {
  return ReadFloat<true>::read(c) >= 0.0f ? a : b;
}

template <class Word>
Handler slct_handler(ptx::Type by, bool ftz) {
  if (by == kS32) return apply<select_by_sign<Word>>;
  return ftz ? apply<select_by_flushed<Word>> : apply<select_by_float<Word>>;
}

}  // namespace

bool bind_selp(Binder& binder) {
  const ptx::Type type = binder.take_type(kSelected);
  if (binder.failed() || !binder.expect_operands(4, 4)) return false;
  const Arg to = binder.destination(0, type);
  const Arg a = binder.source(1, type);
  const Arg b = binder.source(2, type);
  const Arg first = binder.predicate_source(3);
  if (binder.failed()) return false;
  binder.emit(ptx::bits_of(type) == 64 ? run_selp<std::uint64_t> : run_selp<std::uint32_t>,
              OpKind::kMove, {to, a, b, first});
  return binder.finish();
}

bool bind_slct(Binder& binder) {
  const bool ftz = binder.take("ftz");
  const ptx::Type type = binder.take_type(kSelected);
  const ptx::Type by = ftz ? binder.take_type({kF32}) : binder.take_type({kS32, kF32});
  const Handler run = ptx::bits_of(type) == 64 ? slct_handler<std::uint64_t>(by, ftz)
                                               : slct_handler<std::uint32_t>(by, ftz);
  return emit_form(binder, run, OpKind::kMove, type, {type, type, by});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
