// add sub mul fma of f16, bf16 and their packed pairs. Each result is rounded once.
#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/wide_sums.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

enum class Clamp : std::uint8_t { kNone, kSat, kRelu };

// A format: to float, rounding of float, and a fused multiply-add. A sum in float has enough bits
// that its second rounding does no harm. A product is exact in float, but for one of bf16 below
// 2^-134, which is zero in bf16 either way.
struct F16 {
  static constexpr std::uint32_t kExponent = 0x7C00;
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return half_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(float value) {
    return float_to_half_rn(value);
  }
  [[gnu::always_inline]] static std::uint32_t fused(float a, float b, float c) {
    return half_fma(a, b, c);
  }
};
struct Bf16 {
  static constexpr std::uint32_t kExponent = 0x7F80;
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return bf16_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(float value) {
    return float_to_bf16_rn(value);
  }
  [[gnu::always_inline]] static std::uint32_t fused(float a, float b, float c) {
    return bf16_fma(a, b, c);
  }
};

template <class Format, HalfOperation kOperation>
[[gnu::always_inline]] inline std::uint32_t compute(float a, float b, float c) {
  if constexpr (kOperation == HalfOperation::kAdd) return Format::narrow(a + b);
  if constexpr (kOperation == HalfOperation::kSub) return Format::narrow(a - b);
  if constexpr (kOperation == HalfOperation::kMul) return Format::narrow(a * b);
  if constexpr (kOperation == HalfOperation::kFma) return Format::fused(a, b, c);
}

template <class Format, bool kFtz>
[[gnu::always_inline]] inline std::uint32_t flush(std::uint32_t bits) {
  return kFtz && (bits & Format::kExponent) == 0 ? bits & 0x8000u : bits;
}

template <class Format, Clamp kClamp>
[[gnu::always_inline]] inline std::uint32_t clamped(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7FFFu;
  const bool nan = above(magnitude, Format::kExponent);
  if constexpr (kClamp == Clamp::kSat) {
    constexpr std::uint32_t kOne = Format::kExponent == 0x7C00 ? 0x3C00 : 0x3F80;
    const std::uint32_t low = (bits & 0x8000u) != 0 || nan ? 0u : magnitude;
    return above(low, kOne) ? kOne : low;
  }
  if constexpr (kClamp == Clamp::kRelu) return (bits & 0x8000u) != 0 && !nan ? 0u : bits;
  return bits;
}

template <class Format, HalfOperation kOperation, Clamp kClamp, bool kFtz>
[[gnu::always_inline]] inline std::uint32_t one(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t value =
      compute<Format, kOperation>(Format::wide(flush<Format, kFtz>(a & 0xFFFFu)),
                                  Format::wide(flush<Format, kFtz>(b & 0xFFFFu)),
                                  Format::wide(flush<Format, kFtz>(c & 0xFFFFu)));
  return clamped<Format, kClamp>(flush<Format, kFtz>(value));
}

template <class Format, HalfOperation kOperation, Clamp kClamp, bool kFtz, bool kPacked>
Next run_half(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::uint32_t>(warp, op.args[2]);
  const auto* c = kOperation == HalfOperation::kFma ? lanes_of<std::uint32_t>(warp, op.args[3]) : a;
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t low = one<Format, kOperation, kClamp, kFtz>(a[i], b[i], c[i]);
    if constexpr (!kPacked) return low;
    return low | one<Format, kOperation, kClamp, kFtz>(a[i] >> 16, b[i] >> 16, c[i] >> 16) << 16;
  });
  return Next::kOn;
}

template <class Format, HalfOperation kOperation, bool kPacked>
Handler handler_of(const FloatForm& form) {
  constexpr bool kBrain = Format::kExponent == 0x7F80;
  if constexpr (kOperation == HalfOperation::kFma) {
    if (form.relu) {
      return form.ftz ? run_half<Format, kOperation, Clamp::kRelu, !kBrain, kPacked>
                      : run_half<Format, kOperation, Clamp::kRelu, false, kPacked>;
    }
  }
  if constexpr (!kBrain) {
    if (form.sat) {
      return form.ftz ? run_half<Format, kOperation, Clamp::kSat, true, kPacked>
                      : run_half<Format, kOperation, Clamp::kSat, false, kPacked>;
    }
    if (form.ftz) return run_half<Format, kOperation, Clamp::kNone, true, kPacked>;
  }
  return run_half<Format, kOperation, Clamp::kNone, false, kPacked>;
}

template <HalfOperation kOperation>
Handler handler_of_type(const FloatForm& form) {
  if (form.is_bf16()) {
    return form.is_packed() ? handler_of<Bf16, kOperation, true>(form)
                            : handler_of<Bf16, kOperation, false>(form);
  }
  return form.is_packed() ? handler_of<F16, kOperation, true>(form)
                          : handler_of<F16, kOperation, false>(form);
}

bool available(Binder& binder, const FloatForm& form, HalfOperation operation) {
  if (operation == HalfOperation::kFma) {
    return form.relu || form.is_bf16() ? binder.need({7, 0}, 80) : binder.need({4, 2}, 53);
  }
  return form.is_bf16() ? binder.need({7, 8}, 90) : binder.need({4, 2}, 53);
}

}  // namespace

bool bind_half_arithmetic(Binder& binder, const FloatForm& form, HalfOperation operation) {
  if (!available(binder, form, operation)) return false;
  if (form.relu && operation != HalfOperation::kFma) return binder.fail("it has no .relu");
  constexpr Handler (*kHandlers[])(const FloatForm&) = {
      handler_of_type<HalfOperation::kAdd>, handler_of_type<HalfOperation::kSub>,
      handler_of_type<HalfOperation::kMul>, handler_of_type<HalfOperation::kFma>};
  const unsigned inputs = operation == HalfOperation::kFma ? 3 : 2;
  return emit_float(binder, kHandlers[static_cast<unsigned>(operation)](form), form.type, inputs);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
