// div and rem of integers. By zero, a quotient and a remainder have all bits set, as on the
// vendor's devices; the least number by -1 gives itself and 0.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/integer.h"
#include "cuda/instructions/wrap.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Value>
constexpr Value kAllBits = static_cast<Value>(~Wrap<Value>{0});

/// A divisor for which the quotient is defined in C++; the caller gives the other cases.
template <class Value>
Value safe_divisor(Value b) {
  if (b == 0) return 1;
  if constexpr (std::is_signed_v<Value>) return b == -1 ? Value{1} : b;
  return b;
}

/// The integer type that a double is converted to: of the same signedness, 32 bits.
template <class Value>
using Word = std::conditional_t<std::is_signed_v<Value>, std::int32_t, std::uint32_t>;

/// a / b by double precision where that is exact: numbers of up to 32 bits. A quotient that is no
/// integer is further from the next one than its rounding error, so truncation gives the integer
/// below. Vector units divide doubles, not integers.
template <class Value>
Value plain_quotient(Value a, Value b) {
  if constexpr (sizeof(Value) == 8) {
    return a / b;
  } else {
    return static_cast<Value>(
        static_cast<Word<Value>>(static_cast<double>(a) / static_cast<double>(b)));
  }
}

template <class Value>
Value int_quotient(Value a, Value b) {
  const Value quotient = plain_quotient(a, safe_divisor(b));
  if (b == 0) return kAllBits<Value>;
  if constexpr (std::is_signed_v<Value>) {
    if (b == -1) return static_cast<Value>(0 - wrap(a));
  }
  return quotient;
}

template <class Value>
Value int_remainder(Value a, Value b) {
  const Value rest = static_cast<Value>(wrap(a) - wrap(int_quotient(a, b)) * wrap(b));
  return b == 0 ? kAllBits<Value> : rest;
}

}  // namespace

bool bind_integer_div(Binder& binder) {
  const ptx::Type type = binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64});
  const Handler run =
      for_integer(type, [](auto value) -> Handler { return apply<int_quotient<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, type});
}

bool bind_integer_rem(Binder& binder) {
  const ptx::Type type = binder.take_type({kU16, kU32, kU64, kS16, kS32, kS64});
  const Handler run = for_integer(
      type, [](auto value) -> Handler { return apply<int_remainder<decltype(value)>>; });
  return emit_form(binder, run, OpKind::kInteger, type, {type, type});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
