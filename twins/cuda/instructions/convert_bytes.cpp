// cvt from and to pairs of floats of 4, 6 and 8 bits, and of scales (ue8m0).
#include "cuda/instructions/conversions.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/small_floats.h"
#include "cuda/program/builder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

template <class Format>
Next run_bytes_of_floats(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const auto* b = lanes_of<float>(warp, op.args[2]);
  const bool relu = (op.extra & kCvtRelu) != 0;
  each_lane(to, active, [=](unsigned i) {
    return Format::narrow(with_relu(a[i], relu)) << Format::kSlot |
           Format::narrow(with_relu(b[i], relu));
  });
  return Next::kOn;
}

template <class Format>
Next run_bytes_of_halves(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const bool relu = (op.extra & kCvtRelu) != 0;
  each_lane(to, active, [=](unsigned i) {
    const float high = half_to_float(static_cast<std::uint16_t>(a[i] >> 16));
    const float low = half_to_float(static_cast<std::uint16_t>(a[i]));
    return Format::narrow(with_relu(high, relu)) << Format::kSlot |
           Format::narrow(with_relu(low, relu));
  });
  return Next::kOn;
}

template <class Format>
Next run_halves_of_bytes(Warp& warp, const Op& op, LaneMask active) {
  constexpr std::uint32_t kElement = (1u << Format::kBits) - 1;
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const bool relu = (op.extra & kCvtRelu) != 0;
  each_lane(to, active, [=](unsigned i) {
    const float high = Format::wide(a[i] >> Format::kSlot & kElement);
    const float low = Format::wide(a[i] & kElement);
    return static_cast<std::uint32_t>(float_to_half_rn(with_relu(high, relu))) << 16 |
           float_to_half_rn(with_relu(low, relu));
  });
  return Next::kOn;
}

// A scale is the exponent field of a float: 2^-127 is 0, and 255 is NaN. The sign is dropped.
[[gnu::always_inline]] inline std::uint32_t scale_of(std::uint32_t bits, std::uint32_t flags) {
  const std::uint32_t magnitude = bits & kFloatMagnitude;
  const bool inexact = (bits & 0x7FFFFFu) != 0 && above(magnitude, 0x400000u);
  const bool up = (flags & kCvtRounding) == static_cast<std::uint32_t>(Rounding::kUp);
  const bool finite = above(kFloatInfinity, magnitude);
  const std::uint32_t scale = (magnitude >> 23) + (up && inexact && finite ? 1 : 0);
  const bool saturates = (flags & kCvtSatfinite) != 0 && !above(magnitude, kFloatInfinity);
  return saturates && scale == 255 ? 254u : scale;
}

Next run_scales_of_floats(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::uint32_t>(warp, op.args[2]);
  const std::uint32_t flags = op.extra;
  each_lane(to, active,
            [=](unsigned i) { return scale_of(a[i], flags) << 8 | scale_of(b[i], flags); });
  return Next::kOn;
}

Next run_scales_of_brains(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const std::uint32_t flags = op.extra;
  each_lane(to, active, [=](unsigned i) {
    return scale_of(a[i] & 0xFFFF0000u, flags) << 8 | scale_of(a[i] << 16, flags);
  });
  return Next::kOn;
}

[[gnu::always_inline]] inline std::uint32_t brain_of(std::uint32_t scale) {
  const std::uint32_t normal = scale == 0 ? 0x40u : scale << 7;
  return scale == 255 ? 0x7FFFu : normal;
}

Next run_brains_of_scales(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  each_lane(to, active,
            [=](unsigned i) { return brain_of(a[i] >> 8 & 0xFF) << 16 | brain_of(a[i] & 0xFF); });
  return Next::kOn;
}

struct BytesRow {
  Type pair;
  Handler of_floats, of_halves, to_halves;  ///< of_halves is for 8 bits only
};
template <class Format>
constexpr BytesRow row_for(Type pair) {
  return {pair, run_bytes_of_floats<Format>,
          Format::kBits == 8 ? run_bytes_of_halves<Format> : nullptr, run_halves_of_bytes<Format>};
}
constexpr BytesRow kBytesRows[] = {
    row_for<E4m3>(Type::kE4m3x2), row_for<E5m2>(Type::kE5m2x2), row_for<E2m1>(Type::kE2m1x2),
    row_for<E2m3>(Type::kE2m3x2), row_for<E3m2>(Type::kE3m2x2),
};

const BytesRow* row_of(Type type) {
  for (const BytesRow& row : kBytesRows) {
    if (row.pair == type) return &row;
  }
  return nullptr;
}

bool needs_bytes(Binder& binder, const CvtForm& form, const BytesRow& row) {
  if (form.rounding != Rounding::kNearest) return binder.fail("it needs .rn");
  if (row.of_halves == nullptr) return binder.need({8, 6}, 100) && binder.need_specific_target();
  const bool later = binder.builder().module().target.sm >= 90;
  return binder.need(later ? ptx::Version{7, 8} : ptx::Version{8, 1}, 89);
}

bool bind_scales(Binder& binder, const CvtForm& form) {
  if (!binder.need({8, 6}, 100) || !binder.need_specific_target()) return false;
  if (form.relu) return binder.fail("ue8m0 has no .relu");
  if (form.from == Type::kUe8m0x2) {
    if (form.to != Type::kBf16x2) return binder.fail("ue8m0 is to bf16x2 only");
    if (form.rounding != Rounding::kNearest) return binder.fail("it needs .rn");
    if (form.satfinite) return binder.fail("it has no .satfinite");
    return emit_packed(binder, form, run_brains_of_scales, 1);
  }
  if (form.rounding != Rounding::kZero && form.rounding != Rounding::kUp) {
    return binder.fail("it needs .rz or .rp");
  }
  if (form.from == Type::kF32) return emit_packed(binder, form, run_scales_of_floats, 2);
  if (form.from == Type::kBf16x2) return emit_packed(binder, form, run_scales_of_brains, 1);
  return binder.fail("ue8m0 is from f32 or bf16x2 only");
}

}  // namespace

bool is_bytes(Type type) {
  return type == Type::kUe8m0x2 || row_of(type) != nullptr;
}

bool bind_cvt_bytes(Binder& binder, const CvtForm& form) {
  if (form.to == Type::kUe8m0x2 || form.from == Type::kUe8m0x2) return bind_scales(binder, form);
  const bool widens = form.to == Type::kF16x2;
  const BytesRow* const row = row_of(widens ? form.from : form.to);
  if (row == nullptr) return binder.fail("such floats are to f16x2 only");
  if (!needs_bytes(binder, form, *row)) return false;
  if (widens) {
    if (form.satfinite) return binder.fail("it has no .satfinite");
    return emit_packed(binder, form, row->to_halves, 1);
  }
  if (!form.satfinite) return binder.fail("it needs .satfinite");
  if (form.from == Type::kF32) return emit_packed(binder, form, row->of_floats, 2);
  if (form.from == Type::kF16x2 && row->of_halves != nullptr) {
    return emit_packed(binder, form, row->of_halves, 1);
  }
  return binder.fail("such floats are from f32 only, those of 8 bits from f16x2 too");
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
