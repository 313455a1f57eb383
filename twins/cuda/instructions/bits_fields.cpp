// bfe, bfi, bfind, brev, clz, popc and fns.
#include <bit>

#include "cuda/instructions/apply.h"
#include "cuda/instructions/bits.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

/// `count` ones, from 0 to all.
template <class Word>
Word ones(std::uint32_t count) {
  const Word some = (Word{1} << (count & (kBits<Word> - 1))) - 1;
  return count < kBits<Word> ? some : ~Word{0};
}

/// Positions and lengths are the low 8 bits of their operands. A field that goes beyond the upper
/// end is filled with zeros, or with the sign.
template <class Value>
Value extracted_field(Value a, std::uint32_t position, std::uint32_t length) {
  using Word = Wrap<Value>;
  constexpr std::uint32_t kLast = kBits<Value> - 1;
  const std::uint32_t first = position & 0xFFu;
  const std::uint32_t count = length & 0xFFu;
  const Word moved = first > kLast ? 0 : wrap(a) >> (first & kLast);
  if constexpr (std::is_signed_v<Value>) {
    if (count == 0) return 0;
    const std::uint32_t end = first + count - 1;
    const Word sign = wrap(a) >> (end < kLast ? end : kLast) & 1u;
    const std::uint32_t there = first > kLast ? 0 : kLast + 1 - first;
    const Word kept = ones<Word>(count < there ? count : there);
    return static_cast<Value>((moved & kept) | ((0 - sign) & ~kept));
  } else {
    return static_cast<Value>(moved & ones<Word>(count));
  }
}

template <class Word>
Word inserted_field(Word field, Word into, std::uint32_t position, std::uint32_t length) {
  constexpr std::uint32_t kLast = kBits<Word> - 1;
  const std::uint32_t first = position & 0xFFu;
  const Word mask = first > kLast ? 0 : ones<Word>(length & 0xFFu) << (first & kLast);
  return (into & ~mask) | ((field << (first & kLast)) & mask);
}

/// The bit of highest value that differs from the sign; all ones if there is none.
template <class Value>
std::uint32_t highest_bit(Value a) {
  Wrap<Value> word = wrap(a);
  if constexpr (std::is_signed_v<Value>) word ^= wrap(static_cast<Value>(a >> (kBits<Value> - 1)));
  return static_cast<std::uint32_t>(static_cast<int>(kBits<Value>) - 1 - std::countl_zero(word));
}
template <class Value>
std::uint32_t shift_to_highest_bit(Value a) {
  const std::uint32_t bit = highest_bit(a);
  return bit == ~std::uint32_t{0} ? bit : kBits<Value> - 1 - bit;
}

template <class Word>
Word swapped(Word a, unsigned distance, Word low) {
  return (a >> distance & low) | ((a & low) << distance);
}
template <class Word>
Word reversed_bits(Word a) {
  constexpr Word kAll = ~Word{0};
  a = swapped(a, 1, static_cast<Word>(kAll / 3));
  a = swapped(a, 2, static_cast<Word>(kAll / 5));
  a = swapped(a, 4, static_cast<Word>(kAll / 17));
  a = swapped(a, 8, static_cast<Word>(kAll / 257));
  a = swapped(a, 16, static_cast<Word>(kAll / 65537));
  if constexpr (sizeof(Word) == 8) a = a >> 32 | a << 32;
  return a;
}

template <class Word>
std::uint32_t leading_zeros(Word a) {
  return static_cast<std::uint32_t>(std::countl_zero(a));
}
template <class Word>
std::uint32_t population(Word a) {
  return static_cast<std::uint32_t>(std::popcount(a));
}

/// The bit of `mask` that is the offset-th from `base` on, upwards or downwards; the first is
/// number 1. With offset 0, `base` itself if it is set.
std::uint32_t nth_set_bit(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  constexpr std::uint32_t kNotFound = ~std::uint32_t{0};
  if (base > 31) return kNotFound;
  if (offset == 0) return (mask >> base & 1u) != 0 ? base : kNotFound;
  const int step = offset > 0 ? 1 : -1;
  std::int64_t left = offset > 0 ? std::int64_t{offset} : -std::int64_t{offset};
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
  }
  return kNotFound;
}

/// "name.type d, a" with a result of 32 bits.
bool emit_count(Binder& binder, Handler run, ptx::Type type) {
  return emit_form(binder, run, OpKind::kInteger, kU32, {type});
}

}  // namespace

bool bind_bfe(Binder& binder) {
  const ptx::Type type = binder.take_type({kU32, kU64, kS32, kS64});
  const Handler run = for_integer(
      type, [](auto value) -> Handler { return apply<extracted_field<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, kU32, kU32});
}

bool bind_bfi(Binder& binder) {
  const ptx::Type type = binder.take_type({kB32, kB64});
  const Handler run =
      type == kB64 ? apply<inserted_field<std::uint64_t>> : apply<inserted_field<std::uint32_t>>;
  return emit_form(binder, run, OpKind::kInteger, type, {type, type, kU32, kU32});
}

bool bind_bfind(Binder& binder) {
  const bool shift = binder.take("shiftamt");
  const ptx::Type type = binder.take_type({kU32, kU64, kS32, kS64});
  const Handler run = for_integer(type, [shift](auto value) -> Handler {
    using Value = decltype(value);
    return shift ? apply<shift_to_highest_bit<Value>> : apply<highest_bit<Value>>;
  });
  return emit_count(binder, run, type);
}

bool bind_brev(Binder& binder) {
  const ptx::Type type = binder.take_type({kB32, kB64});
  return emit_form(
      binder,
      type == kB64 ? apply<reversed_bits<std::uint64_t>> : apply<reversed_bits<std::uint32_t>>,
      OpKind::kInteger, type, {type});
}
bool bind_clz(Binder& binder) {
  const ptx::Type type = binder.take_type({kB32, kB64});
  return emit_count(
      binder,
      type == kB64 ? apply<leading_zeros<std::uint64_t>> : apply<leading_zeros<std::uint32_t>>,
      type);
}
bool bind_popc(Binder& binder) {
  const ptx::Type type = binder.take_type({kB32, kB64});
  return emit_count(
      binder, type == kB64 ? apply<population<std::uint64_t>> : apply<population<std::uint32_t>>,
      type);
}

bool bind_fns(Binder& binder) {
  binder.take_type({kB32});
  return emit_form(binder, apply<nth_set_bit>, OpKind::kInteger, kB32, {kB32, kU32, kS32});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
