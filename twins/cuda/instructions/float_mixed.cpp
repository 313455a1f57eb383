// add sub mul fma of pairs of f32, and add sub fma of f32 with f16 or bf16.
#include <array>

#include "cuda/instructions/float_operations.h"
#include "cuda/instructions/halves.h"
#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

template <class Operation>
float sum_element(float a, float b, float c, std::uint32_t flags) {
  if (static_cast<Rounding>(flags & kRoundingBits) != Rounding::kNearest) {
    return directed_single<Operation>(a, b, c, flags);
  }
  const bool ftz = (flags & kFtzBit) != 0;
  float value =
      ftz ? Operation::nearest(flushed(a), flushed(b), flushed(c)) : Operation::nearest(a, b, c);
  if (ftz) value = flushed(value);
  return (flags & kSatBit) != 0 ? saturated(value) : canonical(value);
}

/// A register of 64 bits has two elements for each lane.
template <class Operation>
Next run_f32x2(Warp& warp, const Op& op, LaneMask active) {
  float* const to = lanes_of<float>(warp, op.args[0]);
  const float* const a = lanes_of<float>(warp, op.args[1]);
  const float* const b = lanes_of<float>(warp, op.args[2]);
  const float* const c = Operation::kInputs > 2 ? lanes_of<float>(warp, op.args[3]) : a;
  for (unsigned i = 0; i < 2 * kLanes; ++i) {
    if ((active >> (i / 2) & 1) != 0) to[i] = sum_element<Operation>(a[i], b[i], c[i], op.extra);
  }
  return Next::kOn;
}

float widened_half(std::uint32_t half, bool brain) {
  const auto bits = static_cast<std::uint16_t>(half);
  return brain ? bf16_to_float(bits) : half_to_float(bits);
}

/// The last source is of f32, those before it are of 16 bits.
template <class Operation, bool kBrain>
Next run_mixed(Warp& warp, const Op& op, LaneMask active) {
  constexpr bool kThree = Operation::kInputs > 2;
  float* const to = lanes_of<float>(warp, op.args[0]);
  const auto* const a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto* const b = kThree ? lanes_of<std::uint32_t>(warp, op.args[2]) : a;
  const float* const last = lanes_of<float>(warp, op.args[Operation::kInputs]);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    const float first = widened_half(a[i], kBrain);
    const float second = kThree ? widened_half(b[i], kBrain) : last[i];
    to[i] = sum_element<Operation>(first, second, last[i], op.extra);
  }
  return Next::kOn;
}

struct MixedRow {
  HalfOperation operation;
  unsigned inputs;
  Handler pair;
  Handler of_half, of_brain;  ///< null: there is no such form
};
constexpr std::array<MixedRow, 4> kMixedRows{{
    {HalfOperation::kAdd, 2, run_f32x2<FloatAdd>, run_mixed<FloatAdd, false>,
     run_mixed<FloatAdd, true>},
    {HalfOperation::kSub, 2, run_f32x2<FloatSub>, run_mixed<FloatSub, false>,
     run_mixed<FloatSub, true>},
    {HalfOperation::kMul, 2, run_f32x2<FloatMul>, nullptr, nullptr},
    {HalfOperation::kFma, 3, run_f32x2<FloatFma>, run_mixed<FloatFma, false>,
     run_mixed<FloatFma, true>},
}};

bool emit_mixed(Binder& binder, const FloatForm& form, const MixedRow& row) {
  const bool brain = binder.take("bf16");
  const Type half = brain ? Type::kBf16 : Type::kF16;
  if (!brain) binder.take("f16");
  if (row.of_half == nullptr) return binder.fail("it has no operands of 16 bits");
  if (form.ftz) return binder.fail("it has no .ftz");
  if (!binder.expect_operands(row.inputs + 1, row.inputs + 1)) return false;
  Arg args[4];
  args[0] = binder.destination(0, Type::kF32);
  for (unsigned k = 1; k <= row.inputs; ++k) {
    args[k] = binder.source(k, k == row.inputs ? Type::kF32 : half);
  }
  if (binder.failed()) return false;
  binder
      .emit(brain ? row.of_brain : row.of_half, OpKind::kFloat,
            {args[0], args[1], args[2], args[3]})
      .extra = float_flags(form);
  return binder.finish();
}

}  // namespace

bool is_pair_or_mixed(const Binder& binder, const FloatForm& form) {
  if (form.type == Type::kF32x2) return true;
  return form.type == Type::kF32 && (binder.next() == "f16" || binder.next() == "bf16");
}

bool bind_pair_or_mixed(Binder& binder, const FloatForm& form, HalfOperation operation) {
  const MixedRow& row = kMixedRows[static_cast<std::size_t>(operation)];
  if (form.relu) return binder.fail("it has no .relu");
  if (!binder.need({8, 6}, 100)) return false;
  if (form.type != Type::kF32x2) return emit_mixed(binder, form, row);
  return emit_float(binder, row.pair, form.type, row.inputs, float_flags(form));
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
