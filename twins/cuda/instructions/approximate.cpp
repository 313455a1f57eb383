// The .approx instructions.
#include "cuda/instructions/approximate_functions.h"
#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

/// The result in f32. The case of NaN is decided in the width of the result, so that the compiler
/// does not mix masks of two widths.
template <class Function, bool kFtz>
[[gnu::always_inline]] inline float finished(float x, Amount amount) {
  const auto value = static_cast<float>(Function::apply(x, amount));
  const std::uint32_t bits = bits_of(kFtz ? flushed(value) : value);
  return float_of(Function::undefined(x) ? kFloatNan : bits);
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

/// The low or high half of all lanes. Three loops: the compiler makes vector code of each, but not
/// of one that does all.
template <class Function, class Format, bool kFtz>
[[gnu::always_inline]] inline void approximate_halves(std::uint32_t* to, const std::uint32_t* from,
                                                      unsigned shift, Amount amount) {
  float x[kLanes];
  double value[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    const float in = Format::wide((from[i] >> shift) & 0xFFFFu);
    x[i] = kFtz ? flushed(in) : in;
  }
  for (unsigned i = 0; i < kLanes; ++i) value[i] = Function::apply(x[i], amount);
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint32_t bits = Format::narrow(value[i]);
    // Only bf16 is flushed: a result below the normal numbers is +0.
    const std::uint32_t kept = kFtz && (bits & 0x7F80u) == 0 ? 0u : bits;
    to[i] = Function::undefined(x[i]) ? 0x7FFFu : kept;
  }
}

template <class Function, class Format, bool kFtz, bool kPacked>
Next run_approximate_half(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const Amount amount(warp);
  std::uint32_t low[kLanes];
  std::uint32_t high[kLanes] = {};
  approximate_halves<Function, Format, kFtz>(low, a, 0, amount);
  if constexpr (kPacked) approximate_halves<Function, Format, kFtz>(high, a, 16, amount);
  each_lane(to, active, [&](unsigned i) { return low[i] | high[i] << 16; });
  return Next::kOn;
}

template <class Function, class Format, bool kFtz>
Handler half_handler(Type type) {
  const bool packed = type == Type::kF16x2 || type == Type::kBf16x2;
  return packed ? run_approximate_half<Function, Format, kFtz, true>
                : run_approximate_half<Function, Format, kFtz, false>;
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
    const double near = disturbed(value, slack_in_ulps<SingleResult>(value, 2),
                                  bits_of(x) * 3 + bits_of(y), amount);
    return result<kFtz, false>(static_cast<float>(near));
  });
  return Next::kOn;
}

/// Of f64 results, whose error PTX does not bound: `unit` up or down with `worst`. Zeros,
/// infinities and NaN stay, and no result becomes one of these.
std::uint64_t one_off(std::uint64_t result, std::uint64_t unit, std::uint32_t input, bool worst) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 52, kMost = kDoubleInfinity - 1;
  const std::uint64_t size = result & kDoubleMagnitude;
  const std::uint64_t moved = sign_of_error(input) != 0 ? result - unit : result + unit;
  const bool inside = size >= kLeast + unit && size + unit <= kMost;
  return worst && inside ? moved : result;
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
  const bool worst = Amount(warp).worst;
  each_lane(to, active, [=](unsigned i) {
    const double x = double_of(flush(bits_of(a[i])) & kUpper);
    const double divisor = kRoot && x != 0 ? std::sqrt(x) : x;
    const std::uint64_t value = flush(bits_of(1 / divisor)) & kUpper;
    const auto input = static_cast<std::uint32_t>(bits_of(x) >> 32);
    const bool nan = a[i] != a[i] || divisor != divisor;
    return double_of(nan ? 0x7FFFFFFF00000000u
                         : one_off(value, std::uint64_t{1} << 32, input, worst));
  });
  return Next::kOn;
}

Next run_rsqrt_double(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<double>(warp, op.args[0]);
  const auto* a = lanes_of<double>(warp, op.args[1]);
  const bool worst = Amount(warp).worst;
  each_lane(to, active, [=](unsigned i) {
    const double value = 1 / std::sqrt(a[i]);
    const std::uint64_t bits = bits_of(a[i]);
    const auto input = static_cast<std::uint32_t>(bits ^ bits >> 32);
    return value == value ? double_of(one_off(bits_of(value), 1, input, worst)) : nan_of(a[i]);
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
  return !binder.failed() && emit_single<ApproximateLg2>(binder, ftz);
}

bool bind_half_power(Binder& binder, Type type, bool ftz) {
  const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  if (brain != ftz) return binder.fail(brain ? "bf16 needs .ftz" : "f16 has no .ftz");
  if (!(brain ? binder.need({7, 8}, 90) : binder.need({7, 0}, 75))) return false;
  const Handler run = brain ? half_handler<ApproximateEx2<BrainResult>, BrainResult, true>(type)
                            : half_handler<ApproximateEx2<HalfResult>, HalfResult, false>(type);
  return emit_float(binder, run, type, 1);
}

bool bind_ex2(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  const Type type =
      binder.take_type({Type::kF32, Type::kF16, Type::kF16x2, Type::kBf16, Type::kBf16x2});
  if (binder.failed()) return false;
  return type == Type::kF32 ? emit_single<ApproximateEx2<SingleResult>>(binder, ftz)
                            : bind_half_power(binder, type, ftz);
}

bool bind_tanh(Binder& binder) {
  if (!take_approx(binder)) return false;
  const Type type =
      binder.take_type({Type::kF32, Type::kF16, Type::kF16x2, Type::kBf16, Type::kBf16x2});
  if (binder.failed()) return false;
  if (type == Type::kF32) return emit_single<ApproximateTanh<SingleResult>>(binder, false);
  const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  if (brain && !binder.need({7, 8}, 90)) return false;
  const Handler run = brain ? half_handler<ApproximateTanh<BrainResult>, BrainResult, false>(type)
                            : half_handler<ApproximateTanh<HalfResult>, HalfResult, false>(type);
  return emit_float(binder, run, type, 1);
}

bool bind_rsqrt(Binder& binder) {
  if (!take_approx(binder)) return false;
  const bool ftz = binder.take("ftz");
  const Type type = binder.take_type({Type::kF32, Type::kF64});
  if (binder.failed()) return false;
  if (type == Type::kF32) return emit_single<ApproximateRsqrt>(binder, ftz);
  if (!ftz) return emit_float(binder, run_rsqrt_double, type, 1);
  return binder.need({4, 0}, 20) && emit_float(binder, run_gross<true>, type, 1);
}

constexpr Opcode kApproximateOpcodes[] = {
    {"rsqrt", {1, 0}, 0, bind_rsqrt, nullptr},
    {"lg2", {1, 0}, 0, bind_lg2, nullptr},
    {"ex2", {1, 0}, 0, bind_ex2, nullptr},
    {"tanh", {7, 0}, 75, bind_tanh, nullptr},
    {"sin", {1, 0}, 0, bind_wave<ApproximateWave<0>>, nullptr},
    {"cos", {1, 0}, 0, bind_wave<ApproximateWave<1>>, nullptr},
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
  if (type == Type::kF32) return emit_single<ApproximateRcp>(binder, ftz);
  if (!ftz) return binder.fail("f64 has .approx with .ftz only");
  return binder.need({2, 1}, 20) && emit_float(binder, run_gross<false>, type, 1);
}

bool bind_approximate_sqrt(Binder& binder) {
  const bool ftz = binder.take("ftz");
  binder.take_type({Type::kF32});
  return !binder.failed() && emit_single<ApproximateSqrt>(binder, ftz);
}

std::span<const Opcode> approximation_opcodes() {
  return kApproximateOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
