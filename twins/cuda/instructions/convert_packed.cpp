// cvt to tf32, and to pairs of f16 and bf16.
#include "cuda/instructions/conversions.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/narrow.h"
#include "cuda/instructions/small_floats.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

constexpr std::uint32_t kAway = 128;  // Op::extra: rna

template <class Format>
[[gnu::always_inline]] inline std::uint32_t one_half(float value, bool truncate, bool relu,
                                                     bool satfinite) {
  const float in = with_relu(value, relu);
  const std::uint32_t bits = truncate ? Format::store(in, Rounding::kZero) : Format::nearest(in);
  const bool infinite = (bits & 0x7FFFu) == Format::kInfinity;
  return satfinite && infinite ? bits - 1 : bits;
}

template <class Format>
Next run_pair(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const auto* b = lanes_of<float>(warp, op.args[2]);
  if (op.extra == 0) {
    each_lane(to, active,
              [=](unsigned i) { return Format::nearest(a[i]) << 16 | Format::nearest(b[i]); });
    return Next::kOn;
  }
  const bool truncate = (op.extra & kCvtRounding) != 0;
  const bool relu = (op.extra & kCvtRelu) != 0;
  const bool satfinite = (op.extra & kCvtSatfinite) != 0;
  each_lane(to, active, [=](unsigned i) {
    return one_half<Format>(a[i], truncate, relu, satfinite) << 16 |
           one_half<Format>(b[i], truncate, relu, satfinite);
  });
  return Next::kOn;
}

// tf32 is a float whose low 13 bits are 0.
std::uint32_t float_to_tf32(float value, std::uint32_t flags) {
  const float in = with_relu(value, (flags & kCvtRelu) != 0);
  const std::uint32_t bits = bits_of(in);
  if (in != in) return kFloatNan;
  const bool truncate = (flags & kCvtRounding) != 0;
  const std::uint32_t tie = (flags & kAway) != 0 ? 1u : (bits >> 13) & 1u;
  const std::uint32_t rounded = (bits + (truncate ? 0u : 0xFFFu + tie)) & ~0x1FFFu;
  const bool infinite = (rounded & kFloatMagnitude) == kFloatInfinity;
  return (flags & kCvtSatfinite) != 0 && infinite ? rounded - 0x2000u : rounded;
}

Next run_tf32(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const std::uint32_t flags = op.extra;
  each_lane(to, active, [=](unsigned i) { return float_to_tf32(a[i], flags); });
  return Next::kOn;
}

bool bind_tf32(Binder& binder, const CvtForm& form) {
  if (form.from != Type::kF32) return binder.fail("tf32 is from f32 only");
  if (form.away && form.relu) return binder.fail(".rna has no .relu");
  const bool nearest_or_zero =
      form.rounding == Rounding::kNearest || form.rounding == Rounding::kZero;
  if (!form.away && !nearest_or_zero) return binder.fail("tf32 needs .rna, .rn or .rz");
  if (form.away) {
    if (!binder.need(form.satfinite ? ptx::Version{8, 1} : ptx::Version{7, 0}, 80)) return false;
  } else if (!(form.satfinite ? binder.need({8, 6}, 100) : binder.need({7, 8}, 90))) {
    return false;
  }
  return emit_packed(binder, form, run_tf32, 1);
}

bool bind_pair(Binder& binder, const CvtForm& form) {
  if (form.from != Type::kF32) return binder.fail("it is from two f32 only");
  if (form.rounding != Rounding::kNearest && form.rounding != Rounding::kZero) {
    return binder.fail("it needs .rn or .rz");
  }
  if (!binder.need(form.satfinite ? ptx::Version{8, 1} : ptx::Version{7, 0}, 80)) return false;
  return emit_packed(binder, form,
                     form.to == Type::kF16x2 ? run_pair<F16Format> : run_pair<Bf16Format>, 2);
}

}  // namespace

bool emit_packed(Binder& binder, const CvtForm& form, Handler run, unsigned inputs) {
  if (form.ftz || form.sat || form.integer_rounding) {
    return binder.fail("it has no .ftz, .sat or integer rounding");
  }
  if (!binder.expect_operands(inputs + 1, inputs + 1)) return false;
  const Arg to = binder.destination(0, form.to);
  const Arg a = binder.source(1, form.from);
  const Arg b = inputs == 2 ? binder.source(2, form.from) : Arg{};
  if (binder.failed()) return false;
  binder.emit(run, OpKind::kConvert, {to, a, b}).extra = flags_of(form) | (form.away ? kAway : 0);
  return binder.finish();
}

bool is_packed_cvt(const CvtForm& form) {
  const auto packed = [](Type type) {
    return is_bytes(type) || type == Type::kF16x2 || type == Type::kBf16x2 || type == Type::kTf32;
  };
  return form.stochastic || packed(form.to) || packed(form.from);
}

bool bind_cvt_packed(Binder& binder, const CvtForm& form) {
  if (form.stochastic) return bind_cvt_stochastic(binder, form);
  if (is_bytes(form.to) || is_bytes(form.from)) return bind_cvt_bytes(binder, form);
  if (form.to == Type::kTf32) return bind_tf32(binder, form);
  if (form.to == Type::kF16x2 || form.to == Type::kBf16x2) {
    if (form.away) return binder.fail(".rna is for tf32");
    return bind_pair(binder, form);
  }
  return binder.fail("there is no such conversion");
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
