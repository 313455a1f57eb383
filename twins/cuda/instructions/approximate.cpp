// The .approx instructions. A result is the function in double plus a part of the error that the
// PTX document grants, with a sign that varies with the input: an eighth of it, or all of it where
// the settings ask for the worst (Launch::worst_approximations).
#include "cuda/instructions/approximations.h"
#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/wide_sums.h"
#include "cuda/machine/block.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

/// How much of the granted error is added.
struct Amount {
  double part;
  bool worst;
  explicit Amount(const Warp& warp) {
    worst = warp.block->launch->worst_approximations;
    part = worst ? 0.99 : 0.125;
  }
};

// The formats of results. Rounding to them takes up to half an ulp of the granted error.
struct Single {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<23, -126>(value); }
};
struct F16 {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<10, -14>(value); }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return half_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(double value) {
    return float_to_half_rn(double_to_float_odd(value));
  }
};
struct Bf16 {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<7, -126>(value); }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return bf16_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(double value) {
    return float_to_bf16_rn(double_to_float_odd(value));
  }
};

[[gnu::always_inline]] inline double not_below_zero(double value) {
  return value > 0 ? value : 0;
}

/// The error that is left of `granted` after rounding, which takes half an ulp of the result; a
/// result may be one binade above the value.
template <class Format>
[[gnu::always_inline]] inline double left_of(double granted, double value) {
  return not_below_zero(granted - 0.5 * Format::ulp(std::fabs(value) + granted));
}

// The three kinds of bounds. Zeros and infinities are exact.
template <class Format>
[[gnu::always_inline]] inline double slack_in_ulps(double value, double bound) {
  const double ulp = Format::ulp(value);
  const double slack = left_of<Format>(bound * ulp, value);
  return ulp == 0 ? 0.0 : slack;
}
template <class Format>
[[gnu::always_inline]] inline double slack_relative(double value, double bound) {
  const double slack = left_of<Format>(bound * std::fabs(value), value);
  return Format::ulp(value) == 0 ? 0.0 : slack;
}
/// Near a zero of the function the usual error is relative: a sine of 1e-9 is no 1e-7.
template <class Format>
[[gnu::always_inline]] inline double slack_absolute(double value, double bound, Amount amount) {
  const double slack = left_of<Format>(bound, value);
  const double usual = 2 * bound * std::fabs(value);
  const bool whole = amount.worst | (slack < usual);
  return whole ? slack : usual;
}

/// value + the part of `slack`, up or down by the bits of the input.
[[gnu::always_inline]] inline double disturbed(double value, double slack, std::uint32_t input,
                                               Amount amount) {
  const std::uint32_t hash = (input ^ (input >> 15)) * 0x9E3779B1u;
  const std::uint64_t sign = static_cast<std::uint64_t>(hash & kFloatSign) << 32;
  const double sum = value + double_of(bits_of(slack * amount.part) ^ sign);
  return slack == 0 ? value : sum;  // keeps the sign of a zero
}

// Each function: the inputs whose result is NaN, and the result in double for all others,
// disturbed, special values included.
template <class Format>
struct Ex2 {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double low = in > -200 ? in : -200;
    const double value = power_of_two(low < 200 ? low : 200);
    double slack = 0;
    if constexpr (std::is_same_v<Format, Single>) slack = slack_in_ulps<Single>(value, 2);
    if constexpr (std::is_same_v<Format, F16>) slack = slack_relative<F16>(value, 0x1.125p-10);
    if constexpr (std::is_same_v<Format, Bf16>) slack = slack_relative<Bf16>(value, 0x1p-7);
    const double near = not_below_zero(disturbed(value, slack, bits_of(x), amount));
    const double finite = in > -160 ? near : 0.0;
    const double known = in == 0 ? 1.0 : finite;
    return known;
  }
};

template <class Format>
struct Tanh {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = tangent_hyperbolic(in);
    double slack = 0;
    if constexpr (std::is_same_v<Format, Single>) slack = slack_relative<Single>(value, 0x1p-11);
    if constexpr (std::is_same_v<Format, F16>) {
      slack = slack_absolute<F16>(value, 0x1.024p-11, amount);
    }
    if constexpr (std::is_same_v<Format, Bf16>) slack = slack_absolute<Bf16>(value, 0x1p-8, amount);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double limit = amount.worst ? 2.0 : 1.0;
    const double size = std::fabs(near) < limit ? std::fabs(near) : limit;
    const double finite = std::fabs(in) < 0x1p-126 ? in : std::copysign(size, near);
    const double known = std::fabs(in) > 0x1p127 ? std::copysign(1.0, in) : finite;
    return known;
  }
};

struct Lg2 {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = log2_of(in > 0 ? in : 1.0);
    const bool near_one = (in > 0.5) & (in < 2.0);
    const double absolute = slack_absolute<Single>(value, 0x1p-22, amount);
    const double relative = slack_relative<Single>(value, 0x1p-22);
    const double slack = near_one ? absolute : relative;
    const double near = disturbed(value, slack, bits_of(x), amount);
    constexpr double kInfinity = __builtin_inf();
    const double finite = in < __builtin_inf() ? near : kInfinity;
    const double known = in == 0 ? -kInfinity : finite;
    return known;
  }
};

struct Rsqrt {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = reciprocal_root(in > 0 ? in : 1.0);
    const double slack = slack_relative<Single>(value, 0x1.125p-23);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double finite = in < __builtin_inf() ? near : 0.0;
    const double pole = double_of((bits_of(in) & ~kDoubleMagnitude) | kDoubleInfinity);
    const double known = in == 0 ? pole : finite;
    return known;
  }
};

struct Sqrt {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = in * reciprocal_root(in > 0 ? in : 1.0);
    const double slack = slack_relative<Single>(value, 0x1p-23);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double finite = in < __builtin_inf() ? near : in;
    const double known = in == 0 ? in : finite;
    return known;
  }
};

struct Rcp {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const double value = 1.0 / static_cast<double>(x);
    return disturbed(value, slack_in_ulps<Single>(value, 1), bits_of(x), amount);
  }
};

/// The bound is for the document's range, |x| <= 2 pi, the smaller one of its two.
template <std::uint64_t kQuarters>
struct Wave {
  static constexpr double kFar = 0x1p20;
  [[gnu::always_inline]] static bool undefined(float x) {
    return !(std::fabs(x) < __builtin_inff());
  }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = sine(std::fabs(in) < kFar ? in : 0.0, kQuarters);
    return adjusted(x, value, amount);
  }
  /// Best effort: the remainder by the nearest double of 2 pi.
  static double apply_far(float x, Amount amount) {
    const double in = std::fmod(static_cast<double>(x), 0x1.921fb54442d18p+2);
    return adjusted(x, sine(in, kQuarters), amount);
  }
  [[gnu::always_inline]] static double adjusted(float x, double value, Amount amount) {
    const auto in = static_cast<double>(x);
    const double bound = std::fabs(in) <= 0x1.921fb6p+2 ? 0x1.6ap-21 : 0x1.3bp-15;
    const double near =
        disturbed(value, slack_absolute<Single>(value, bound, amount), bits_of(x), amount);
    constexpr bool kCosine = kQuarters != 0;
    const double known = in == 0 ? (kCosine ? 1.0 : in) : near;
    return known;
  }
};

/// The result in f32. The case of NaN is decided in the width of the result, so that the compiler
/// does not mix masks of two widths.
template <class Function, bool kFtz>
[[gnu::always_inline]] inline float finished(float x, Amount amount) {
  const auto value = static_cast<float>(Function::apply(x, amount));
  const std::uint32_t bits = bits_of(kFtz ? flushed(value) : value);
  return float_of(Function::undefined(x) ? kFloatNan : bits);
}

/// In a format of 16 bits.
template <class Function, class Format>
[[gnu::always_inline]] inline std::uint32_t narrowed(float x, Amount amount) {
  const std::uint32_t bits = Format::narrow(Function::apply(x, amount));
  return Function::undefined(x) ? 0x7FFFu : bits;
}

template <class Function, bool kFtz>
Next run_single(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<float>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const Amount amount(warp);
  each_lane(to, active,
            [=](unsigned i) { return finished<Function, kFtz>(operand<kFtz>(a[i]), amount); });
  return Next::kOn;
}

template <class Function, bool kFtz>
Next run_wave(Warp& warp, const Op& op, LaneMask active) {
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const LaneMask far = lanes_where([=](unsigned i) {
    return std::fabs(a[i]) >= Function::kFar && std::fabs(a[i]) < __builtin_inff();
  });
  if ((far & active) == 0) return run_single<Function, kFtz>(warp, op, active);
  auto* to = lanes_of<float>(warp, op.args[0]);
  const Amount amount(warp);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    const float x = operand<kFtz>(a[i]);
    to[i] = (far >> i & 1) != 0
                ? result<kFtz, false>(static_cast<float>(Function::apply_far(x, amount)))
                : finished<Function, kFtz>(x, amount);
  }
  return Next::kOn;
}

template <class Function, class Format, bool kPacked>
Next run_half(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const Amount amount(warp);
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t low = narrowed<Function, Format>(Format::wide(a[i] & 0xFFFFu), amount);
    if constexpr (!kPacked) return low;
    return low | narrowed<Function, Format>(Format::wide(a[i] >> 16), amount) << 16;
  });
  return Next::kOn;
}

// ex2.approx.ftz of bf16: a result below the normal numbers is zero.
template <bool kPacked>
Next run_brain_power(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const Amount amount(warp);
  const auto one = [amount](std::uint32_t bits) {
    const float x = flushed(Bf16::wide(bits));
    const std::uint32_t value = narrowed<Ex2<Bf16>, Bf16>(x, amount);
    return (value & 0x7F80u) == 0 ? 0u : value;
  };
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t low = one(a[i] & 0xFFFFu);
    if constexpr (!kPacked) return low;
    return low | one(a[i] >> 16) << 16;
  });
  return Next::kOn;
}

/// Of div.approx: a * (1 / b), where a huge divisor's reciprocal is flushed to zero.
template <bool kFtz, bool kFull>
Next run_divide(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<float>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const auto* b = lanes_of<float>(warp, op.args[2]);
  const Amount amount(warp);
  each_lane(to, active, [=](unsigned i) {
    const float x = operand<kFtz>(a[i]);
    const float y = operand<kFtz>(b[i]);
    const bool huge = !kFull && std::fabs(y) > 0x1p126f && std::fabs(y) < __builtin_inff();
    const double divisor =
        huge ? std::copysign(__builtin_inf(), static_cast<double>(y)) : static_cast<double>(y);
    const double value = static_cast<double>(x) / divisor;
    const double near =
        disturbed(value, slack_in_ulps<Single>(value, 2), bits_of(x) * 3 + bits_of(y), amount);
    return result<kFtz, false>(static_cast<float>(near));
  });
  return Next::kOn;
}

// The gross forms of f64: the upper word of the input gives the upper word of the result.
template <bool kRoot>
Next run_gross(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<double>(warp, op.args[0]);
  const auto* a = lanes_of<double>(warp, op.args[1]);
  constexpr std::uint64_t kUpper = 0xFFFFFFFF00000000u;
  constexpr std::uint64_t kSign = ~kDoubleMagnitude;
  const auto flush = [](std::uint64_t bits) {
    return (bits & kDoubleInfinity) == 0 ? bits & kSign : bits;
  };
  each_lane(to, active, [=](unsigned i) {
    const double x = double_of(flush(bits_of(a[i])) & kUpper);
    const double divisor = kRoot && x != 0 ? std::sqrt(x) : x;
    const std::uint64_t value = flush(bits_of(1 / divisor)) & kUpper;
    const bool nan = a[i] != a[i] || divisor != divisor;
    return double_of(nan ? 0x7FFFFFFF00000000u : value);
  });
  return Next::kOn;
}

Next run_rsqrt_double(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<double>(warp, op.args[0]);
  const auto* a = lanes_of<double>(warp, op.args[1]);
  each_lane(to, active, [=](unsigned i) {
    const double value = 1 / std::sqrt(a[i]);
    return value == value ? value : nan_of(a[i]);
  });
  return Next::kOn;
}

template <class Function>
bool emit_single(Binder& binder, bool ftz) {
  return emit_float(binder, ftz ? run_single<Function, true> : run_single<Function, false>,
                    Type::kF32, 1);
}

bool take_approx(Binder& binder) {
  return binder.take("approx") || binder.fail("it needs .approx");
}

template <class Function>
bool bind_wave(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  binder.take_type({Type::kF32});
  if (binder.failed()) return false;
  return emit_float(binder, ftz ? run_wave<Function, true> : run_wave<Function, false>, Type::kF32,
                    1);
}

bool bind_lg2(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  binder.take_type({Type::kF32});
  return !binder.failed() && emit_single<Lg2>(binder, ftz);
}

bool bind_half_power(Binder& binder, Type type, bool ftz) {
  const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  if (brain != ftz) return binder.fail(brain ? "bf16 needs .ftz" : "f16 has no .ftz");
  if (!(brain ? binder.need({7, 8}, 90) : binder.need({7, 0}, 75))) return false;
  const bool packed = type == Type::kF16x2 || type == Type::kBf16x2;
  const Handler of_brain = packed ? run_brain_power<true> : run_brain_power<false>;
  const Handler of_half = packed ? run_half<Ex2<F16>, F16, true> : run_half<Ex2<F16>, F16, false>;
  return emit_float(binder, brain ? of_brain : of_half, type, 1);
}

bool bind_ex2(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  const Type type =
      binder.take_type({Type::kF32, Type::kF16, Type::kF16x2, Type::kBf16, Type::kBf16x2});
  if (binder.failed()) return false;
  return type == Type::kF32 ? emit_single<Ex2<Single>>(binder, ftz)
                            : bind_half_power(binder, type, ftz);
}

bool bind_tanh(Binder& binder) {
  if (!take_approx(binder)) return false;
  const Type type =
      binder.take_type({Type::kF32, Type::kF16, Type::kF16x2, Type::kBf16, Type::kBf16x2});
  if (binder.failed()) return false;
  if (type == Type::kF32) return emit_single<Tanh<Single>>(binder, false);
  const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  if (brain && !binder.need({7, 8}, 90)) return false;
  const bool packed = type == Type::kF16x2 || type == Type::kBf16x2;
  const Handler of_brain =
      packed ? run_half<Tanh<Bf16>, Bf16, true> : run_half<Tanh<Bf16>, Bf16, false>;
  const Handler of_half = packed ? run_half<Tanh<F16>, F16, true> : run_half<Tanh<F16>, F16, false>;
  return emit_float(binder, brain ? of_brain : of_half, type, 1);
}

bool bind_rsqrt(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  const Type type = binder.take_type({Type::kF32, Type::kF64});
  if (binder.failed()) return false;
  if (type == Type::kF32) return emit_single<Rsqrt>(binder, ftz);
  if (!ftz) return emit_float(binder, run_rsqrt_double, type, 1);
  return binder.need({4, 0}, 20) && emit_float(binder, run_gross<true>, type, 1);
}

constexpr Opcode kOpcodes[] = {
    {"rsqrt", {1, 0}, 0, bind_rsqrt, nullptr},
    {"lg2", {1, 0}, 0, bind_lg2, nullptr},
    {"ex2", {1, 0}, 0, bind_ex2, nullptr},
    {"tanh", {7, 0}, 75, bind_tanh, nullptr},
    {"sin", {1, 0}, 0, bind_wave<Wave<0>>, nullptr},
    {"cos", {1, 0}, 0, bind_wave<Wave<1>>, nullptr},
};

}  // namespace

bool bind_approximate_divide(Binder& binder, bool full_range) {
  const bool ftz = binder.take("ftz");
  binder.take_type({Type::kF32});
  if (binder.failed()) return false;
  constexpr Handler kHandlers[2][2] = {{run_divide<false, false>, run_divide<false, true>},
                                       {run_divide<true, false>, run_divide<true, true>}};
  return emit_float(binder, kHandlers[ftz][full_range], Type::kF32, 2);
}

bool bind_approximate_rcp(Binder& binder) {
  const bool ftz = binder.take("ftz");
  const Type type = binder.take_type({Type::kF32, Type::kF64});
  if (binder.failed()) return false;
  if (type == Type::kF32) return emit_single<Rcp>(binder, ftz);
  if (!ftz) return binder.fail("f64 has .approx with .ftz only");
  return binder.need({2, 1}, 20) && emit_float(binder, run_gross<false>, type, 1);
}

bool bind_approximate_sqrt(Binder& binder) {
  const bool ftz = binder.take("ftz");
  binder.take_type({Type::kF32});
  return !binder.failed() && emit_single<Sqrt>(binder, ftz);
}

std::span<const Opcode> approximation_opcodes() {
  return kOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
