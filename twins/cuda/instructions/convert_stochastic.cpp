// cvt.rs: random bits decide whether a number is rounded up.
#include <algorithm>

#include "cuda/instructions/conversions.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/small_floats.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

struct StochasticF16 {
  static constexpr unsigned kBits = 16, kSlot = 16, kFraction = 10;
  static constexpr int kBias = 15;
  static constexpr std::uint32_t kMost = 0x7BFF, kNan = 0x7FFF;
};
struct StochasticBf16 {
  static constexpr unsigned kBits = 16, kSlot = 16, kFraction = 7;
  static constexpr int kBias = 127;
  static constexpr std::uint32_t kMost = 0x7F7F, kNan = 0x7FFF;
};

/// The number cut to the format, or the next one if the sum of `random` and the first kRandom bits
/// that are cut off has a carry. Infinity follows the largest number.
template <class Format, unsigned kRandom>
std::uint32_t stochastic(float value, std::uint32_t random, std::uint32_t flags) {
  const float in = with_relu(value, (flags & kCvtRelu) != 0);
  if (in != in) return Format::kNan;
  const std::uint32_t magnitude = bits_of(in) & kFloatMagnitude;
  const std::uint32_t field = magnitude >> 23;
  const std::uint32_t exponent = std::max(field, 1u);
  const std::uint64_t significand = (magnitude & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0u);
  constexpr auto kLeast = static_cast<std::uint32_t>(128 - Format::kBias);
  const std::uint32_t below = exponent < kLeast ? kLeast - exponent : 0;
  // All of a number that is smaller by far is cut off, and none of it is in the first bits.
  const std::uint32_t cut = std::min(23 - Format::kFraction + below, 40u);
  const std::uint64_t rest = significand & ((std::uint64_t{1} << cut) - 1);
  const std::uint64_t first = cut >= kRandom ? rest >> (cut - kRandom) : rest << (kRandom - cut);
  const std::uint64_t carry = (first + random) >> kRandom;
  const std::uint32_t binade = exponent > kLeast ? exponent - kLeast : 0;
  const std::uint64_t number = (binade << Format::kFraction) + (significand >> cut) + carry;
  const std::uint32_t sign = bits_of(in) >> 31 << (Format::kBits - 1);
  if (number <= Format::kMost) return sign | static_cast<std::uint32_t>(number);
  return sign | (Format::kMost + ((flags & kCvtSatfinite) != 0 ? 0 : 1));
}

/// Each half of the random bits is for one input.
template <class Format, unsigned kRandom>
Next run_stochastic_pair(Warp& warp, const Op& op, LaneMask active) {
  constexpr std::uint32_t kMask = (1u << kRandom) - 1;
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<float>(warp, op.args[1]);
  const auto* b = lanes_of<float>(warp, op.args[2]);
  const auto* random = lanes_of<std::uint32_t>(warp, op.args[3]);
  const std::uint32_t flags = op.extra;
  each_lane(to, active, [=](unsigned i) {
    return stochastic<Format, kRandom>(a[i], random[i] >> 16 & kMask, flags) << 16 |
           stochastic<Format, kRandom>(b[i], random[i] & kMask, flags);
  });
  return Next::kOn;
}

/// 16 random bits for the two upper inputs, and 16 for the two lower ones. Those of elements of 4
/// bits are in the upper and in the lower bytes of both halves.
template <class Format>
Next run_stochastic_four(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* random = lanes_of<std::uint32_t>(warp, op.args[1]);
  const float* from[4];
  for (unsigned k = 0; k < 4; ++k) from[k] = lanes_of<float>(warp, op.more[k]);
  const std::uint32_t flags = op.extra;
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t r = random[i];
    const bool bytes = Format::kSlot == 4;
    const std::uint32_t upper = bytes ? (r >> 16 & 0xFF00u) | (r >> 8 & 0xFFu) : r >> 16;
    const std::uint32_t lower = bytes ? (r >> 8 & 0xFF00u) | (r & 0xFFu) : r & 0xFFFFu;
    std::uint32_t packed = 0;
    for (unsigned k = 0; k < 4; ++k) {
      packed = packed << Format::kSlot |
               stochastic<Format, 16>(from[k][i], k < 2 ? upper : lower, flags);
    }
    return packed;
  });
  return Next::kOn;
}

struct StochasticRow {
  Type to;
  Handler run;
  std::size_t inputs;
};
constexpr StochasticRow kStochasticRows[] = {
    {Type::kF16x2, run_stochastic_pair<StochasticF16, 13>, 2},
    {Type::kBf16x2, run_stochastic_pair<StochasticBf16, 16>, 2},
    {Type::kE4m3x4, run_stochastic_four<E4m3>, 4},
    {Type::kE5m2x4, run_stochastic_four<E5m2>, 4},
    {Type::kE2m1x4, run_stochastic_four<E2m1>, 4},
    {Type::kE2m3x4, run_stochastic_four<E2m3>, 4},
    {Type::kE3m2x4, run_stochastic_four<E3m2>, 4},
};

bool emit_pair(Binder& binder, const CvtForm& form, Handler run) {
  if (!binder.expect_operands(4, 4)) return false;
  const Arg to = binder.destination(0, form.to);
  const Arg a = binder.source(1, Type::kF32), b = binder.source(2, Type::kF32);
  const Arg random = binder.source(3, Type::kB32);
  if (binder.failed()) return false;
  binder.emit(run, OpKind::kConvert, {to, a, b, random}).extra = flags_of(form);
  return binder.finish();
}

bool emit_four(Binder& binder, const CvtForm& form, Handler run) {
  if (!form.satfinite) return binder.fail("it needs .satfinite");
  if (!binder.expect_operands(3, 3)) return false;
  const Arg to = binder.destination(0, form.to);
  const auto items = binder.vector(1, 4);
  if (!items) return false;
  Arg from[4];
  for (std::size_t k = 0; k < 4; ++k) from[k] = binder.source((*items)[k], Type::kF32);
  const Arg random = binder.source(2, Type::kB32);
  if (binder.failed()) return false;
  Op& op = binder.emit(run, OpKind::kConvert, {to, random});
  op.extra = flags_of(form);
  binder.more(op, from);
  return binder.finish();
}

}  // namespace

bool bind_cvt_stochastic(Binder& binder, const CvtForm& form) {
  if (form.from != Type::kF32) return binder.fail(".rs is from f32 only");
  if (form.ftz || form.sat) return binder.fail("it has no .ftz or .sat");
  for (const StochasticRow& row : kStochasticRows) {
    if (row.to != form.to) continue;
    if (!binder.need({8, 7}, 100) || !binder.need_specific_target()) return false;
    return row.inputs == 2 ? emit_pair(binder, form, row.run) : emit_four(binder, form, row.run);
  }
  return binder.fail(".rs is to pairs of 16 bits and to four small floats only");
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
