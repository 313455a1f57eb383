// min max abs neg copysign testp. All work on bits: values of 16 bits stand in the high half of a
// word, so that one order of words serves every format.
#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

constexpr std::uint32_t kHalfInfinity = 0x7C000000u;  // in the high half

// Op::extra of min and max.
constexpr std::uint32_t kFtz = 1, kNanWins = 2, kAbs = 4, kXorSign = 8;

/// The same order as that of the values, with -0 below +0.
template <class Bits>
[[gnu::always_inline]] inline auto order_of(Bits bits) {
  using Signed = std::make_signed_t<Bits>;
  const auto value = static_cast<Signed>(bits);
  constexpr auto kMagnitude = static_cast<Signed>(~Bits{0} >> 1);
  return static_cast<Signed>(value ^ ((value >> (sizeof(Bits) * 8 - 1)) & kMagnitude));
}

/// The modifiers as masks, which a loop over lanes applies without a branch.
struct Choice {
  std::uint32_t flush, nan_wins, keep, sign;
  explicit Choice(std::uint32_t flags)
      : flush((flags & kFtz) != 0 ? kFloatMagnitude : 0u),
        nan_wins((flags & kNanWins) != 0 ? ~0u : 0u),
        keep((flags & kAbs) != 0 ? kFloatMagnitude : ~0u),
        sign((flags & kXorSign) != 0 ? kFloatSign : 0u) {}
};

template <class Bits>
constexpr Bits kSignOf = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));

template <class Bits>
[[gnu::always_inline]] inline Bits nan_mask(Bits bits, Bits infinity) {
  using Signed = std::make_signed_t<Bits>;
  const auto magnitude = static_cast<Signed>(bits & static_cast<Bits>(~kSignOf<Bits>));
  return magnitude > static_cast<Signed>(infinity) ? ~Bits{0} : Bits{0};
}

/// `both_nan` is the result where both are NaN, or one where `nan_wins` is all ones.
template <bool kMax, class Bits>
[[gnu::always_inline]] inline Bits choose(Bits a, Bits b, Bits infinity, Bits both_nan,
                                          Bits nan_wins) {
  const Bits nan_a = nan_mask(a, infinity);
  const Bits nan_b = nan_mask(b, infinity);
  const bool first = kMax ? order_of(a) > order_of(b) : order_of(a) < order_of(b);
  const Bits number = first ? a : b;
  const Bits other = (b & nan_a) | (a & nan_b & ~nan_a) | (number & ~nan_a & ~nan_b);
  const Bits nan = (nan_a & nan_b) | (nan_wins & (nan_a | nan_b));
  return (both_nan & nan) | (other & ~nan);
}

/// One value in a word. `infinity` tells the format.
template <bool kMax>
[[gnu::always_inline]] inline std::uint32_t choose_word(std::uint32_t a, std::uint32_t b,
                                                        std::uint32_t infinity, std::uint32_t nan,
                                                        Choice choice) {
  const std::uint32_t sign = (a ^ b) & choice.sign;
  const std::uint32_t flush_a = (a & infinity) == 0 ? choice.flush : 0u;
  const std::uint32_t flush_b = (b & infinity) == 0 ? choice.flush : 0u;
  const std::uint32_t chosen = choose<kMax>(a & ~flush_a & choice.keep, b & ~flush_b & choice.keep,
                                            infinity, nan, choice.nan_wins);
  return chosen | (chosen == nan ? 0u : sign);
}

enum class Shape : std::uint8_t { kSingle, kHalf, kPair };

template <bool kMax, Shape kShape, std::uint32_t kInfinity>
Next run_choice(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::uint32_t>(warp, op.args[2]);
  const Choice choice(op.extra);
  if constexpr (kShape == Shape::kSingle) {
    if (op.extra == 0) {
      each_lane(to, active,
                [=](unsigned i) { return choose<kMax>(a[i], b[i], kInfinity, kFloatNan, 0u); });
      return Next::kOn;
    }
    each_lane(to, active, [=](unsigned i) {
      return choose_word<kMax>(a[i], b[i], kInfinity, kFloatNan, choice);
    });
    return Next::kOn;
  }
  constexpr std::uint32_t kNan = 0x7FFF0000u;
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t low =
        choose_word<kMax>(a[i] << 16, b[i] << 16, kInfinity, kNan, choice) >> 16;
    if constexpr (kShape == Shape::kHalf) return low;
    return low | choose_word<kMax>(a[i] & 0xFFFF0000u, b[i] & 0xFFFF0000u, kInfinity, kNan, choice);
  });
  return Next::kOn;
}

template <bool kMax>
Next run_choice_of_three(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::uint32_t>(warp, op.args[2]);
  const auto* c = lanes_of<std::uint32_t>(warp, op.args[3]);
  const Choice choice(op.extra);
  each_lane(to, active, [=](unsigned i) {
    const std::uint32_t two = choose_word<kMax>(a[i], b[i], kFloatInfinity, kFloatNan, choice);
    return choose_word<kMax>(two, c[i], kFloatInfinity, kFloatNan, choice);
  });
  return Next::kOn;
}

template <bool kMax>
Next run_double_choice(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint64_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint64_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::uint64_t>(warp, op.args[2]);
  each_lane(to, active, [=](unsigned i) {
    return choose<kMax>(a[i], b[i], kDoubleInfinity, a[i] | kDoubleQuiet, std::uint64_t{0});
  });
  return Next::kOn;
}

template <bool kMax>
Handler choice_of(Type type) {
  switch (type) {
    case Type::kF16:
      return run_choice<kMax, Shape::kHalf, kHalfInfinity>;
    case Type::kF16x2:
      return run_choice<kMax, Shape::kPair, kHalfInfinity>;
    case Type::kBf16:
      return run_choice<kMax, Shape::kHalf, kFloatInfinity>;
    case Type::kBf16x2:
      return run_choice<kMax, Shape::kPair, kFloatInfinity>;
    case Type::kF64:
      return run_double_choice<kMax>;
    default:
      return run_choice<kMax, Shape::kSingle, kFloatInfinity>;
  }
}

bool is_half(Type type) {
  return type != Type::kF32 && type != Type::kF64;
}
bool is_bf16(Type type) {
  return type == Type::kBf16 || type == Type::kBf16x2;
}

bool check_choice(Binder& binder, std::uint32_t flags, Type type) {
  if (type == Type::kF64 && flags != 0) return binder.fail("f64 has no modifiers");
  if (is_bf16(type) && (flags & kFtz) != 0) return binder.fail("bf16 has no .ftz");
  if (is_half(type) && !binder.need({7, 0}, 80)) return false;
  if ((flags & kNanWins) != 0 && !binder.need({7, 0}, 80)) return false;
  return (flags & kXorSign) == 0 || binder.need({7, 2}, 86);
}

template <bool kMax>
bool bind_choice(Binder& binder) {
  std::uint32_t flags = binder.take("ftz") ? kFtz : 0;
  if (binder.take("NaN")) flags |= kNanWins;
  if (binder.take("xorsign")) flags |= kXorSign;
  if (binder.take("abs")) flags |= kAbs;
  const Type type = binder.take_type(kAllFloats);
  if (binder.failed() || !check_choice(binder, flags, type)) return false;
  const bool three = binder.operands() == 4;
  if (three) {
    if (type != Type::kF32) return binder.fail("three inputs are for f32");
    if ((flags & kXorSign) != 0) return binder.fail(".xorsign is for two inputs");
    return binder.need({8, 8}, 100) &&
           emit_float(binder, run_choice_of_three<kMax>, type, 3, flags);
  }
  if (((flags & kXorSign) != 0) != ((flags & kAbs) != 0)) {
    return binder.fail(".xorsign and .abs go together");
  }
  return emit_float(binder, choice_of<kMax>(type), type, 2, flags);
}

// abs and neg: Op::immediate has the bits that stay, and above them the bits that flip.
template <std::uint32_t kExponents>
Next run_sign(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  const auto keep = static_cast<std::uint32_t>(op.immediate);
  const auto flip = static_cast<std::uint32_t>(op.immediate >> 32);
  constexpr bool kPair = kExponents == 0x7C007C00u;
  constexpr std::uint32_t kHigh = kPair ? kExponents & 0xFFFF0000u : kExponents;
  constexpr std::uint32_t kHighAll = kPair ? 0xFFFF0000u : ~0u;
  constexpr std::uint32_t kSigns = kPair                   ? 0x80008000u
                                   : kExponents == 0x7C00u ? 0x8000u
                                                           : kFloatSign;
  each_lane(to, active, [=](unsigned i) {
    std::uint32_t bits = a[i];
    if constexpr (kExponents != 0) {
      std::uint32_t flush = (bits & kHigh) == 0 ? kHighAll : 0u;
      if constexpr (kPair) flush |= (bits & 0x7C00u) == 0 ? 0xFFFFu : 0u;
      bits &= ~flush | kSigns;
    }
    return (bits & keep) ^ flip;
  });
  return Next::kOn;
}

Next run_double_sign(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint64_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::uint64_t>(warp, op.args[1]);
  const std::uint64_t keep = op.extra == 0 ? ~std::uint64_t{0} : kDoubleMagnitude;
  const std::uint64_t flip = op.extra == 0 ? ~kDoubleMagnitude : 0;
  each_lane(to, active, [=](unsigned i) { return (a[i] & keep) ^ flip; });
  return Next::kOn;
}

std::uint32_t signs_of(Type type) {
  if (type == Type::kF32) return kFloatSign;
  return type == Type::kF16x2 || type == Type::kBf16x2 ? 0x80008000u : 0x8000u;
}

Handler sign_handler(Type type, bool ftz) {
  if (type == Type::kF64) return run_double_sign;
  if (!ftz) return run_sign<0>;
  if (type == Type::kF32) return run_sign<kFloatInfinity>;
  return type == Type::kF16 ? run_sign<0x7C00u> : run_sign<0x7C007C00u>;
}

template <bool kIsAbs>
bool bind_sign(Binder& binder) {
  const bool ftz = binder.take("ftz");
  const Type type = binder.take_type(kAllFloats);
  if (binder.failed()) return false;
  if (ftz && (type == Type::kF64 || is_bf16(type))) {
    return binder.fail(".ftz is for f32, f16 and f16x2");
  }
  if (is_bf16(type) && !binder.need({7, 0}, 80)) return false;
  const ptx::Version half_version = kIsAbs ? ptx::Version{6, 5} : ptx::Version{6, 0};
  if (is_half(type) && !is_bf16(type) && !binder.need(half_version, 53)) return false;
  if (!binder.expect_operands(2, 2)) return false;
  const Arg to = binder.destination(0, type);
  const Arg from = binder.source(1, type);
  if (binder.failed()) return false;
  const OpKind kind = is_half(type)        ? OpKind::kHalf
                      : type == Type::kF64 ? OpKind::kDouble
                                           : OpKind::kFloat;
  Op& op = binder.emit(sign_handler(type, ftz), kind, {to, from});
  op.extra = kIsAbs ? 1 : 0;
  const std::uint32_t signs = signs_of(type);
  const std::uint64_t keep = kIsAbs ? ~signs : ~0u;
  const std::uint64_t flip = kIsAbs ? 0 : signs;
  op.immediate = static_cast<std::int64_t>(flip << 32 | keep);
  return binder.finish();
}

template <class Bits>
Next run_copysign(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<Bits>(warp, op.args[0]);
  const auto* a = lanes_of<Bits>(warp, op.args[1]);
  const auto* b = lanes_of<Bits>(warp, op.args[2]);
  each_lane(to, active, [=](unsigned i) {
    return static_cast<Bits>((a[i] & kSignOf<Bits>) | (b[i] & ~kSignOf<Bits>));
  });
  return Next::kOn;
}

bool bind_copysign(Binder& binder) {
  const Type type = binder.take_type({Type::kF32, Type::kF64});
  if (binder.failed()) return false;
  return emit_float(binder,
                    type == Type::kF64 ? run_copysign<std::uint64_t> : run_copysign<std::uint32_t>,
                    type, 2);
}

constexpr std::string_view kTests[] = {"finite",     "infinite", "number",
                                       "notanumber", "normal",   "subnormal"};
// Op::extra of testp is one of them, by its place.
template <class Bits>
bool holds(unsigned test, Bits bits, Bits infinity) {
  const Bits magnitude = bits & static_cast<Bits>(~kSignOf<Bits>);
  const bool below_normal = (magnitude & infinity) == 0;
  switch (test) {
    case 0:
      return magnitude < infinity;
    case 1:
      return magnitude == infinity;
    case 2:
      return magnitude <= infinity;
    case 3:
      return magnitude > infinity;
    case 4:
      return magnitude == 0 || (!below_normal && magnitude < infinity);
    default:
      return magnitude != 0 && below_normal;
  }
}

template <class Bits>
Next run_test(Warp& warp, const Op& op, LaneMask active) {
  const auto* a = lanes_of<Bits>(warp, op.args[1]);
  constexpr auto kInfinity =
      static_cast<Bits>(sizeof(Bits) == 8 ? kDoubleInfinity : std::uint64_t{kFloatInfinity});
  const unsigned test = op.extra;
  const LaneMask mask = lanes_where([=](unsigned i) { return holds(test, a[i], kInfinity); });
  set_predicate(warp, op.args[0], mask, active);
  return Next::kOn;
}

bool bind_testp(Binder& binder) {
  const auto test = binder.take_one_of(std::span<const std::string_view>(kTests));
  if (!test) return binder.fail("it needs a property: .finite, .number, ...");
  const Type type = binder.take_type({Type::kF32, Type::kF64});
  if (binder.failed() || !binder.expect_operands(2, 2)) return false;
  const Arg to = binder.predicate_destination(std::size_t{0});
  const Arg from = binder.source(1, type);
  if (binder.failed()) return false;
  const bool is_double = type == Type::kF64;
  binder
      .emit(is_double ? run_test<std::uint64_t> : run_test<std::uint32_t>,
            is_double ? OpKind::kDouble : OpKind::kFloat, {to, from})
      .extra = static_cast<std::uint32_t>(*test);
  return binder.finish();
}

constexpr Opcode kComparisonOpcodes[] = {
    {"min", {1, 0}, 0, bind_choice<false>, has_float_type},
    {"max", {1, 0}, 0, bind_choice<true>, has_float_type},
    {"abs", {1, 0}, 0, bind_sign<true>, has_float_type},
    {"neg", {1, 0}, 0, bind_sign<false>, has_float_type},
    {"copysign", {2, 0}, 20, bind_copysign, nullptr},
    {"testp", {2, 0}, 20, bind_testp, nullptr},
};

}  // namespace

std::span<const Opcode> float_comparison_opcodes() {
  return kComparisonOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
