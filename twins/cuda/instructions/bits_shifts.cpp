// shl, shr, shf, szext and bmsk. A count beyond the width shifts everything out.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/bits.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Word>
Word shifted_left(Word a, std::uint32_t count) {
  const Wrap<Word> shifted = wrap(a) << (count & (kBits<Word> - 1));
  return static_cast<Word>(count < kBits<Word> ? shifted : 0);
}
template <class Value>
Value shifted_right(Value a, std::uint32_t count) {
  constexpr std::uint32_t kLast = kBits<Value> - 1;
  const auto shifted = static_cast<Value>(a >> (count < kLast ? count : kLast));
  if constexpr (std::is_signed_v<Value>) {
    return shifted;
  } else {
    return count <= kLast ? shifted : Value{0};
  }
}

// --- Funnel shifts of the 64 bits b:a.
template <bool wrap_count>
std::uint32_t funnel_count(std::uint32_t count) {
  if constexpr (wrap_count) return count & 31u;
  return count < 32 ? count : 32;
}
template <bool wrap_count>
std::uint32_t funnel_left(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>((both << funnel_count<wrap_count>(count)) >> 32);
}
template <bool wrap_count>
std::uint32_t funnel_right(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(both >> funnel_count<wrap_count>(count));
}

/// The low `width` bits of a, extended; 0 for a width of 0. With kClamp a width above 31 keeps all
/// bits, else it counts modulo 32.
template <class Value, bool clamp>
Value extended(Value a, std::uint32_t width) {
  if (clamp && width > 31) return a;
  const std::uint32_t bits = width & 31u;
  if (bits == 0) return 0;
  const std::uint32_t unused = 32 - bits;
  return static_cast<Value>(static_cast<Value>(wrap(a) << unused) >> unused);
}

/// `count` ones from bit `first` on.
template <bool clamp>
std::uint32_t bit_mask(std::uint32_t first, std::uint32_t count) {
  if (clamp && first > 31) return 0;
  const std::uint32_t from = ~std::uint32_t{0} << (first & 31u);
  if (clamp && count > 31) return from;
  const std::uint32_t end = (first & 31u) + (count & 31u);
  return end > 31 ? from : from & ~(~std::uint32_t{0} << end);
}

}  // namespace

bool bind_shl(Binder& binder) {
  const ptx::Type type = binder.take_type({kB16, kB32, kB64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<shifted_left<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, kU32});
}

bool bind_shr(Binder& binder) {
  const ptx::Type type = binder.take_type({kB16, kB32, kB64, kU16, kU32, kU64, kS16, kS32, kS64});
  const Handler run = for_integer(
      type, [](auto value) -> Handler { return apply<shifted_right<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, kU32});
}

bool bind_shf(Binder& binder) {
  constexpr Handler kHandlers[2][2] = {{apply<funnel_left<false>>, apply<funnel_left<true>>},
                                       {apply<funnel_right<false>>, apply<funnel_right<true>>}};
  const auto direction = binder.take_first_of({"l", "r"});
  if (!direction) return binder.fail("needs .l or .r");
  const auto mode = binder.take_one_of({"clamp", "wrap"});
  if (!mode) return binder.fail("needs .clamp or .wrap");
  binder.take_type({kB32});
  return emit_form(binder, kHandlers[*direction][*mode], OpKind::kInteger, kB32,
                   {kB32, kB32, kU32});
}

bool bind_szext(Binder& binder) {
  constexpr Handler kHandlers[2][2] = {
      {apply<extended<std::uint32_t, true>>, apply<extended<std::uint32_t, false>>},
      {apply<extended<std::int32_t, true>>, apply<extended<std::int32_t, false>>}};
  const auto mode = binder.take_one_of({"clamp", "wrap"});
  if (!mode) return binder.fail("needs .clamp or .wrap");
  const ptx::Type type = binder.take_type({kU32, kS32});
  return emit_form(binder, kHandlers[type == kS32 ? 1 : 0][*mode], OpKind::kInteger, type,
                   {type, kU32});
}

bool bind_bmsk(Binder& binder) {
  const auto mode = binder.take_one_of({"clamp", "wrap"});
  if (!mode) return binder.fail("needs .clamp or .wrap");
  binder.take_type({kB32});
  return emit_form(binder, *mode == 0 ? apply<bit_mask<true>> : apply<bit_mask<false>>,
                   OpKind::kInteger, kB32, {kU32, kU32});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
