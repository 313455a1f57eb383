// add, sub, sad, neg, abs, min and max of integers.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/integer.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

std::int32_t saturated_sum(std::int32_t a, std::int32_t b) {
  return saturated(std::int64_t{a} + b);
}
std::int32_t saturated_difference(std::int32_t a, std::int32_t b) {
  return saturated(std::int64_t{a} - b);
}
template <class Value>
Value int_sad(Value a, Value b, Value c) {
  return static_cast<Value>(wrap(c) + (a < b ? wrap(b) - wrap(a) : wrap(a) - wrap(b)));
}
template <class Value>
Value int_neg(Value a) {
  return static_cast<Value>(0 - wrap(a));
}
template <class Value>
Value int_abs(Value a) {
  return a < 0 ? int_neg(a) : a;
}
template <class Value>
Value int_min(Value a, Value b) {
  return b < a ? b : a;
}
template <class Value>
Value int_max(Value a, Value b) {
  return a < b ? b : a;
}
template <class Value, Value (*f)(Value, Value)>
Value not_negative(Value a, Value b) {
  return int_max(f(a, b), Value{0});
}

/// Only sums have packed types.
bool bind_sum(Binder& binder, bool packed, Handler saturating, Handler (*choose)(ptx::Type)) {
  const bool sat = binder.take("sat");
  const ptx::Type type =
      sat      ? binder.take_type({kS32})
      : packed ? binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64, kU16x2, kS16x2})
               : binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64});
  if (is_packed(type) && !binder.need({8, 0}, 90)) return false;
  return emit_form(binder, sat ? saturating : choose(type), OpKind::kInteger, type, {type, type});
}

/// The document has .relu before the type in the grammar, and after it in an example.
bool bind_extreme(Binder& binder, Handler (*choose)(ptx::Type, bool relu)) {
  const bool before = binder.take("relu");
  const ptx::Type type = binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64, kU16x2, kS16x2});
  const bool relu = before || binder.take("relu");
  if (relu && type != kS32 && type != kS16x2) return binder.fail(".relu needs .s32 or .s16x2");
  if ((relu || is_packed(type)) && !binder.need({8, 0}, 90)) return false;
  return emit_form(binder, choose(type, relu), OpKind::kInteger, type, {type, type});
}

template <template <class> class Function>
Handler for_integer_or_pair(ptx::Type type) {
  if (type == kU16x2) {
    return apply<in_halves<Function<std::uint16_t>::f, std::uint16_t, Pair<std::uint16_t>>>;
  }
  if (type == kS16x2) {
    return apply<in_halves<Function<std::int16_t>::f, std::int16_t, Pair<std::int16_t>>>;
  }
  return for_integer(type,
                     [](auto value) -> Handler { return apply<Function<decltype(value)>::f>; });
}

template <class Value>
struct IntSum {
  static constexpr auto f = &wrapped_sum<Value>;
};
template <class Value>
struct IntMin {
  static constexpr auto f = &int_min<Value>;
};
template <class Value>
struct IntMax {
  static constexpr auto f = &int_max<Value>;
};

template <template <class> class Function>
Handler extreme_of(ptx::Type type, bool relu) {
  if (!relu) return for_integer_or_pair<Function>(type);
  if (type == kS32) return apply<not_negative<std::int32_t, Function<std::int32_t>::f>>;
  return apply<in_halves<not_negative<std::int16_t, Function<std::int16_t>::f>, std::int16_t,
                         Pair<std::int16_t>>>;
}

}  // namespace

bool bind_integer_add(Binder& binder) {
  return bind_sum(binder, true, apply<saturated_sum>, for_integer_or_pair<IntSum>);
}
bool bind_integer_sub(Binder& binder) {
  return bind_sum(binder, false, apply<saturated_difference>, [](ptx::Type type) {
    return for_integer(
        type, [](auto value) -> Handler { return apply<wrapped_difference<decltype(value)>>; });
  });
}
bool bind_integer_min(Binder& binder) {
  return bind_extreme(binder, extreme_of<IntMin>);
}
bool bind_integer_max(Binder& binder) {
  return bind_extreme(binder, extreme_of<IntMax>);
}

bool bind_integer_sad(Binder& binder) {
  const ptx::Type type = binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<int_sad<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, type, type});
}
bool bind_integer_neg(Binder& binder) {
  const ptx::Type type = binder.take_type({kS16, kS32, kS64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<int_neg<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type});
}
bool bind_integer_abs(Binder& binder) {
  const ptx::Type type = binder.take_type({kS16, kS32, kS64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<int_abs<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
