// cvt from integers to floats and back.
#include <algorithm>
#include <limits>
#include <memory>

#include "cuda/instructions/conversions.h"
#include "cuda/instructions/directed.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/narrow.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

template <class T>
std::uint64_t magnitude_of(T value, bool& negative) {
  negative = value < 0;
  const auto bits = static_cast<std::uint64_t>(value);
  return negative ? ~bits + 1 : bits;
}

/// An integer in a format. Values that f16 cannot hold are cut off first: the rest is exact in
/// float.
template <class To, class From>
typename To::Register integer_lane(From value, Rounding rounding) {
  bool negative = false;
  const std::uint64_t magnitude = magnitude_of(value, negative);
  if constexpr (To::kInfinity == F16Format::kInfinity) {
    const auto near = static_cast<float>(std::min(magnitude, std::uint64_t{1} << 20));
    return To::store(negative ? -near : near, rounding);
  } else if constexpr (To::kInfinity == Bf16Format::kInfinity) {
    const float low = rounded_from<float>(negative, magnitude, 0, Rounding::kZero);
    const float high = rounded_from<float>(negative, magnitude, 0, Rounding::kUp);
    const float down = rounded_from<float>(negative, magnitude, 0, Rounding::kDown);
    return To::store(float_of(bits_of(low) | (high != down ? 1u : 0u)), rounding);
  } else {
    using T = typename To::Native;
    return bits_of(rounded_from<T>(negative, magnitude, 0, rounding));
  }
}

template <class To, class From>
Next run_integer_nearest(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<typename To::Native>(warp, op.args[0]);
  const auto* from = lanes_of<From>(warp, op.args[1]);
  each_lane(to, active, [=](unsigned i) { return static_cast<typename To::Native>(from[i]); });
  return Next::kOn;
}

template <class To, class From>
Next run_integer_any(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<typename To::Register>(warp, op.args[0]);
  const auto* from = lanes_of<From>(warp, op.args[1]);
  const auto rounding = static_cast<Rounding>(op.extra & kCvtRounding);
  const bool sat = (op.extra & kCvtSat) != 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    const From value = sat ? std::clamp(from[i], From{0}, From{1}) : from[i];
    to[i] = integer_lane<To>(value, rounding);
  }
  return Next::kOn;
}

template <class To, class From>
Handler integer_handler(std::uint32_t flags) {
  constexpr bool kWide = sizeof(typename To::Register) == 8 || To::kIsSingle;
  if constexpr (kWide) {
    if ((flags & (kCvtRounding | kCvtSat)) == 0) return run_integer_nearest<To, From>;
  }
  return run_integer_any<To, From>;
}

template <class From>
Handler integer_handler_from(Type to, std::uint32_t flags) {
  switch (to) {
    case Type::kF16:
      return integer_handler<F16Format, From>(flags);
    case Type::kBf16:
      return integer_handler<Bf16Format, From>(flags);
    case Type::kF32:
      return integer_handler<F32Format, From>(flags);
    default:
      return integer_handler<F64Format, From>(flags);
  }
}

/// The limits of an integer of up to 32 bits, and what NaN becomes; the program owns them.
struct Limits {
  double least = 0, most = 0, nan = 0;
};

template <class From, Rounding kRounding>
Next run_to_word(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* from = lanes_of<typename From::Register>(warp, op.args[1]);
  const Limits limits = plan_of<Limits>(op);
  const bool ftz = (op.extra & kCvtFtz) != 0;
  each_lane(to, active, [=](unsigned i) {
    typename From::Native in = From::load(from[i]);
    if constexpr (From::kIsSingle) in = ftz ? flushed(in) : in;
    const auto value = static_cast<double>(to_integral(in, kRounding));
    const double low = value > limits.least ? value : limits.least;
    const double near = low < limits.most ? low : limits.most;
    const double known = value == value ? near : limits.nan;
    // The sum's low bits are the integer in two's complement.
    return static_cast<std::uint32_t>(bits_of(known + 0x1.8p52));
  });
  return Next::kOn;
}

constexpr std::uint64_t kNoInteger = std::uint64_t{1} << 63;  // NaN in 64 bits

std::uint64_t to_signed_long(double value) {
  if (value != value || value < -0x1p63) return kNoInteger;
  if (value >= 0x1p63) return kNoInteger - 1;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

std::uint64_t to_unsigned_long(double value) {
  if (value != value) return kNoInteger;
  if (value <= 0) return 0;
  if (value >= 0x1p64) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(value);
}

template <class From, bool kSigned>
Next run_to_long(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint64_t>(warp, op.args[0]);
  const auto* from = lanes_of<typename From::Register>(warp, op.args[1]);
  const auto rounding = static_cast<Rounding>(op.extra & kCvtRounding);
  const bool ftz = (op.extra & kCvtFtz) != 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    typename From::Native in = From::load(from[i]);
    if constexpr (From::kIsSingle) in = ftz ? flushed(in) : in;
    const auto value = static_cast<double>(to_integral(in, rounding));
    to[i] = kSigned ? to_signed_long(value) : to_unsigned_long(value);
  }
  return Next::kOn;
}

template <class From>
Handler to_integer_handler(Rounding rounding, bool is_long, bool is_signed) {
  if (is_long) return is_signed ? run_to_long<From, true> : run_to_long<From, false>;
  constexpr Handler kHandlers[] = {
      run_to_word<From, Rounding::kNearest>, run_to_word<From, Rounding::kZero>,
      run_to_word<From, Rounding::kDown>, run_to_word<From, Rounding::kUp>};
  return kHandlers[static_cast<unsigned>(rounding)];
}

Handler to_integer_handler(Type from, Rounding rounding, bool is_long, bool is_signed) {
  switch (from) {
    case Type::kF16:
      return to_integer_handler<F16Format>(rounding, is_long, is_signed);
    case Type::kBf16:
      return to_integer_handler<Bf16Format>(rounding, is_long, is_signed);
    case Type::kF32:
      return to_integer_handler<F32Format>(rounding, is_long, is_signed);
    default:
      return to_integer_handler<F64Format>(rounding, is_long, is_signed);
  }
}

Limits limits_of(Type to, Type from) {
  const unsigned bits = ptx::bits_of(to);
  const double top = static_cast<double>(std::uint64_t{1} << (bits - 1));
  const bool negative = is_signed(to);
  Limits limits;
  limits.least = negative ? -top : 0;
  limits.most = negative ? top - 1 : 2 * top - 1;
  // The document: 0, but from f64 the value with the highest bit only.
  if (from == Type::kF64) limits.nan = negative ? -top : top;
  return limits;
}

}  // namespace

Handler integer_to_float(const CvtForm& form, bool is_signed, unsigned bits) {
  const std::uint32_t flags = flags_of(form);
  if (bits == 64) {
    return is_signed ? integer_handler_from<std::int64_t>(form.to, flags)
                     : integer_handler_from<std::uint64_t>(form.to, flags);
  }
  return is_signed ? integer_handler_from<std::int32_t>(form.to, flags)
                   : integer_handler_from<std::uint32_t>(form.to, flags);
}

void emit_float_to_integer(Binder& binder, const CvtForm& form, const Arg& to, const Arg& from) {
  if (binder.failed()) return;
  const bool is_long = ptx::bits_of(form.to) == 64;
  const Rounding rounding = form.integer_rounding.value_or(Rounding::kZero);
  const Handler run = to_integer_handler(form.from, rounding, is_long, is_signed(form.to));
  Op& op = binder.emit(run, OpKind::kConvert, {to, from});
  op.extra = flags_of(form);
  if (is_long) return;
  auto limits = std::make_shared<Limits>(limits_of(form.to, form.from));
  set_plan<Limits>(binder, op, std::move(limits));
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
