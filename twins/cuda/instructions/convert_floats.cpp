// cvt between f16, bf16, f32 and f64.
#include "cuda/instructions/conversions.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/narrow.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

template <class To, class From>
Next run_nearest_cvt(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<typename To::Register>(warp, op.args[0]);
  const auto* from = lanes_of<typename From::Register>(warp, op.args[1]);
  each_lane(to, active, [=](unsigned i) { return To::nearest(From::load(from[i])); });
  return Next::kOn;
}

/// The forms that compilers make of floor, ceil, trunc and rint.
template <class Format, Rounding kRounding>
Next run_integral_cvt(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<typename Format::Register>(warp, op.args[0]);
  const auto* from = lanes_of<typename Format::Register>(warp, op.args[1]);
  each_lane(to, active, [=](unsigned i) {
    return Format::nearest(to_integral(Format::load(from[i]), kRounding));
  });
  return Next::kOn;
}

template <class Format>
Handler integral_handler(std::uint32_t rounding) {
  constexpr Handler kHandlers[] = {
      run_integral_cvt<Format, Rounding::kNearest>, run_integral_cvt<Format, Rounding::kZero>,
      run_integral_cvt<Format, Rounding::kDown>, run_integral_cvt<Format, Rounding::kUp>};
  return kHandlers[rounding];
}

template <class T>
T limited(T value, std::uint32_t flags) {
  if ((flags & kCvtSat) != 0) {
    const T low = value > 0 ? value : T{0};
    return low < 1 ? low : T{1};
  }
  if ((flags & kCvtRelu) != 0 && value <= 0) return T{0};
  return value;
}

template <class To, class From>
typename To::Register convert_lane(typename From::Register bits, std::uint32_t flags) {
  typename From::Native value = From::load(bits);
  const auto rounding = static_cast<Rounding>(flags & kCvtRounding);
  const bool ftz = (flags & kCvtFtz) != 0;
  if constexpr (From::kIsSingle) value = ftz ? flushed(value) : value;
  if ((flags & kCvtInteger) != 0) value = to_integral(value, rounding);
  typename To::Register result = To::store(limited(value, flags), rounding);
  if constexpr (To::kIsSingle) result = ftz ? bits_of(flushed(float_of(result))) : result;
  constexpr auto kSign = static_cast<typename To::Register>(
      To::kInfinity == 0x7C00u || To::kInfinity == 0x7F80u ? 0x8000u : kFloatSign);
  if ((flags & kCvtSatfinite) != 0 && (result & ~kSign) == To::kInfinity) --result;
  return result;
}

template <class To, class From>
Next run_any_cvt(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<typename To::Register>(warp, op.args[0]);
  const auto* from = lanes_of<typename From::Register>(warp, op.args[1]);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) != 0) to[i] = convert_lane<To, From>(from[i], op.extra);
  }
  return Next::kOn;
}

template <class To, class From>
Handler cvt_handler(std::uint32_t flags) {
  return flags == 0 ? run_nearest_cvt<To, From> : run_any_cvt<To, From>;
}

template <class To>
Handler cvt_to(Type from, std::uint32_t flags) {
  switch (from) {
    case Type::kF16:
      return cvt_handler<To, F16Format>(flags);
    case Type::kBf16:
      return cvt_handler<To, Bf16Format>(flags);
    case Type::kF32:
      return cvt_handler<To, F32Format>(flags);
    default:
      return cvt_handler<To, F64Format>(flags);
  }
}

}  // namespace

std::uint32_t flags_of(const CvtForm& form) {
  const Rounding rounding =
      form.integer_rounding.value_or(form.rounding.value_or(Rounding::kNearest));
  return static_cast<std::uint32_t>(rounding) | (form.integer_rounding ? kCvtInteger : 0) |
         (form.ftz ? kCvtFtz : 0) | (form.sat ? kCvtSat : 0) | (form.relu ? kCvtRelu : 0) |
         (form.satfinite ? kCvtSatfinite : 0);
}

Handler float_to_float(const CvtForm& form) {
  const std::uint32_t flags = flags_of(form);
  const bool only_integral = (flags & ~kCvtRounding) == kCvtInteger;
  if (only_integral && form.to == Type::kF32)
    return integral_handler<F32Format>(flags & kCvtRounding);
  if (only_integral && form.to == Type::kF64)
    return integral_handler<F64Format>(flags & kCvtRounding);
  switch (form.to) {
    case Type::kF16:
      return cvt_to<F16Format>(form.from, flags);
    case Type::kBf16:
      return cvt_to<Bf16Format>(form.from, flags);
    case Type::kF32:
      return cvt_to<F32Format>(form.from, flags);
    default:
      return cvt_to<F64Format>(form.from, flags);
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
