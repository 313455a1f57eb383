// mul, mad, mul24, mad24, dp4a and dp2a of integers.
#include <optional>

#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/integer.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Value>
Wider<Value> wide_product(Value a, Value b) {
  return static_cast<Wider<Value>>(a) * static_cast<Wider<Value>>(b);
}
template <class Value>
Value low_mad(Value a, Value b, Value c) {
  return static_cast<Value>(wrap(a) * wrap(b) + wrap(c));
}
template <class Value>
Value high_mad(Value a, Value b, Value c) {
  return wrapped_sum(upper_half(a, b), c);
}
template <class Value>
Wider<Value> wide_mad(Value a, Value b, Wider<Value> c) {
  return wrapped_sum(wide_product(a, b), c);
}
std::int32_t saturated_high_mad(std::int32_t a, std::int32_t b, std::int32_t c) {
  return saturated(std::int64_t{upper_half(a, b)} + c);
}

// --- Products of the low 24 bits: bits 0 to 31 (lo) or 16 to 47 (hi).
std::uint64_t product24(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{a & 0xFFFFFFu} * (b & 0xFFFFFFu);
}
std::int64_t product24(std::int32_t a, std::int32_t b) {
  const auto extended = [](std::int32_t value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8) >> 8;
  };
  return std::int64_t{extended(a)} * extended(b);
}
template <class Value>
Value low_product24(Value a, Value b) {
  return static_cast<Value>(product24(a, b));
}
template <class Value>
Value high_product24(Value a, Value b) {
  return static_cast<Value>(product24(a, b) >> 16);
}
template <class Value>
Value low_mad24(Value a, Value b, Value c) {
  return wrapped_sum(low_product24(a, b), c);
}
template <class Value>
Value high_mad24(Value a, Value b, Value c) {
  return wrapped_sum(high_product24(a, b), c);
}
std::int32_t saturated_mad24(std::int32_t a, std::int32_t b, std::int32_t c) {
  return saturated(std::int64_t{high_product24(a, b)} + c);
}

// --- Sums of products of bytes.
template <class Part>
std::int32_t part_of(std::uint32_t word, unsigned index) {
  return static_cast<Part>(word >> (index * kBits<Part>));
}
template <class A, class B>
std::uint32_t dot4(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int32_t sum =
      part_of<A>(a, 0) * part_of<B>(b, 0) + part_of<A>(a, 1) * part_of<B>(b, 1) +
      part_of<A>(a, 2) * part_of<B>(b, 2) + part_of<A>(a, 3) * part_of<B>(b, 3);
  return c + static_cast<std::uint32_t>(sum);
}
template <class A, class B, unsigned first>
std::uint32_t dot2(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int32_t sum =
      part_of<A>(a, 0) * part_of<B>(b, first) + part_of<A>(a, 1) * part_of<B>(b, first + 1);
  return c + static_cast<std::uint32_t>(sum);
}
template <class A, class B>
inline constexpr Handler kDot2[] = {apply<dot2<A, B, 0>>, apply<dot2<A, B, 2>>};

enum Mode : std::size_t { kLow, kHigh, kWide };

ptx::Type wider_type(ptx::Type type) {
  switch (type) {
    case kU16:
      return kU32;
    case kS16:
      return kS32;
    case kU32:
      return kU64;
    case kS32:
      return kS64;
    default:
      return kNone;
  }
}

/// Reads ".lo", ".hi" or ".wide". Without one the error is set, and the result is kLow.
std::size_t take_mode(Binder& binder, bool wide = true) {
  const auto mode =
      wide ? binder.take_first_of({"lo", "hi", "wide"}) : binder.take_first_of({"lo", "hi"});
  if (!mode) binder.fail(wide ? "needs .lo, .hi or .wide" : "needs .lo or .hi");
  return mode.value_or(kLow);
}

ptx::Type take_product_type(Binder& binder, std::size_t mode) {
  return mode == kWide ? binder.take_type({kU16, kU32, kS16, kS32})
                       : binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64});
}

Handler wide_handler(ptx::Type type, bool add) {
  switch (type) {
    case kU16:
      return add ? apply<wide_mad<std::uint16_t>> : apply<wide_product<std::uint16_t>>;
    case kS16:
      return add ? apply<wide_mad<std::int16_t>> : apply<wide_product<std::int16_t>>;
    case kU32:
      return add ? apply<wide_mad<std::uint32_t>> : apply<wide_product<std::uint32_t>>;
    case kS32:
      return add ? apply<wide_mad<std::int32_t>> : apply<wide_product<std::int32_t>>;
    default:
      return nullptr;
  }
}

Handler product_handler(ptx::Type type, std::size_t mode) {
  if (mode == kWide) return wide_handler(type, false);
  return for_integer(type, [mode](auto value) -> Handler {
    using Value = decltype(value);
    return mode == kLow ? apply<wrapped_product<Value>> : apply<upper_half<Value>>;
  });
}

Handler mad_handler(ptx::Type type, std::size_t mode) {
  if (mode == kWide) return wide_handler(type, true);
  return for_integer(type, [mode](auto value) -> Handler {
    using Value = decltype(value);
    return mode == kLow ? apply<low_mad<Value>> : apply<high_mad<Value>>;
  });
}

}  // namespace

bool bind_integer_mul(Binder& binder) {
  const std::size_t mode = take_mode(binder);
  const ptx::Type type = take_product_type(binder, mode);
  return emit_form(binder, product_handler(type, mode), OpKind::kInteger,
                   mode == kWide ? wider_type(type) : type, {type, type});
}

bool bind_integer_mad(Binder& binder) {
  const std::size_t mode = take_mode(binder);
  const bool sat = mode == kHigh && binder.take("sat");
  const ptx::Type type = sat ? binder.take_type({kS32}) : take_product_type(binder, mode);
  const ptx::Type sum = mode == kWide ? wider_type(type) : type;
  return emit_form(binder, sat ? apply<saturated_high_mad> : mad_handler(type, mode),
                   OpKind::kInteger, sum, {type, type, sum});
}

bool bind_mul24(Binder& binder) {
  constexpr Handler kHandlers[2][2] = {
      {apply<low_product24<std::uint32_t>>, apply<low_product24<std::int32_t>>},
      {apply<high_product24<std::uint32_t>>, apply<high_product24<std::int32_t>>}};
  const std::size_t mode = take_mode(binder, false);
  const ptx::Type type = binder.take_type({kU32, kS32});
  return emit_form(binder, kHandlers[mode][type == kS32 ? 1 : 0], OpKind::kInteger, type,
                   {type, type});
}

bool bind_mad24(Binder& binder) {
  constexpr Handler kHandlers[2][2] = {
      {apply<low_mad24<std::uint32_t>>, apply<low_mad24<std::int32_t>>},
      {apply<high_mad24<std::uint32_t>>, apply<high_mad24<std::int32_t>>}};
  const std::size_t mode = take_mode(binder, false);
  const bool sat = mode == kHigh && binder.take("sat");
  const ptx::Type type = sat ? binder.take_type({kS32}) : binder.take_type({kU32, kS32});
  const Handler run = sat ? apply<saturated_mad24> : kHandlers[mode][type == kS32 ? 1 : 0];
  return emit_form(binder, run, OpKind::kInteger, type, {type, type, type});
}

bool bind_dp4a(Binder& binder) {
  using std::int8_t;
  using std::uint8_t;
  constexpr Handler kHandlers[2][2] = {
      {apply<dot4<uint8_t, uint8_t>>, apply<dot4<uint8_t, int8_t>>},
      {apply<dot4<int8_t, uint8_t>>, apply<dot4<int8_t, int8_t>>}};
  const ptx::Type a = binder.take_type({kU32, kS32});
  const ptx::Type b = binder.take_type({kU32, kS32});
  const ptx::Type sum = a == kU32 && b == kU32 ? kU32 : kS32;
  return emit_form(binder, kHandlers[a == kS32 ? 1 : 0][b == kS32 ? 1 : 0], OpKind::kInteger, sum,
                   {a, b, sum});
}

bool bind_dp2a(Binder& binder) {
  using std::int16_t;
  using std::int8_t;
  using std::uint16_t;
  using std::uint8_t;
  constexpr const Handler* kHandlers[2][2] = {{kDot2<uint16_t, uint8_t>, kDot2<uint16_t, int8_t>},
                                              {kDot2<int16_t, uint8_t>, kDot2<int16_t, int8_t>}};
  const std::size_t mode = take_mode(binder, false);
  const ptx::Type a = binder.take_type({kU32, kS32});
  const ptx::Type b = binder.take_type({kU32, kS32});
  const ptx::Type sum = a == kU32 && b == kU32 ? kU32 : kS32;
  return emit_form(binder, kHandlers[a == kS32 ? 1 : 0][b == kS32 ? 1 : 0][mode], OpKind::kInteger,
                   sum, {a, b, sum});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
