// Integer arithmetic modulo 2^n, without the promotions and the undefined overflow of C++.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// The unsigned type to compute with: at least 32 bits.
template <class Value>
using Wrap = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;

template <class Value>
inline constexpr unsigned kBits = sizeof(Value) * 8;

template <class Value>
[[gnu::always_inline]] constexpr Wrap<Value> wrap(Value value) {
  return static_cast<Wrap<Value>>(value);
}
template <class Value>
[[gnu::always_inline]] constexpr Value wrapped_sum(Value a, Value b) {
  return static_cast<Value>(wrap(a) + wrap(b));
}
template <class Value>
[[gnu::always_inline]] constexpr Value wrapped_difference(Value a, Value b) {
  return static_cast<Value>(wrap(a) - wrap(b));
}
template <class Value>
[[gnu::always_inline]] constexpr Value wrapped_product(Value a, Value b) {
  return static_cast<Value>(wrap(a) * wrap(b));
}

/// Twice as wide, of the same signedness.
template <class Value>
struct WiderType;
template <>
struct WiderType<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct WiderType<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct WiderType<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WiderType<std::int32_t> {
  using type = std::int64_t;
};
template <class Value>
using Wider = typename WiderType<Value>::type;

/// The upper 64 bits of a product, from products of halves.
[[gnu::always_inline]] constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLow = 0xFFFFFFFFu;
  const std::uint64_t low = (a & kLow) * (b & kLow);
  const std::uint64_t cross = (a >> 32) * (b & kLow) + (low >> 32);
  const std::uint64_t other = (a & kLow) * (b >> 32) + (cross & kLow);
  return (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32);
}

template <class Value>
[[gnu::always_inline]] constexpr Value upper_half(Value a, Value b) {
  if constexpr (sizeof(Value) == 8) {
    std::uint64_t upper = upper_product(wrap(a), wrap(b));
    if constexpr (std::is_signed_v<Value>) {
      upper -= (a < 0 ? wrap(b) : 0) + (b < 0 ? wrap(a) : 0);
    }
    return static_cast<Value>(upper);
  } else {
    const auto product = static_cast<Wider<Value>>(a) * static_cast<Wider<Value>>(b);
    return static_cast<Value>(product >> kBits<Value>);
  }
}

[[gnu::always_inline]] constexpr std::int32_t saturated(std::int64_t value) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t above = value < kLeast ? kLeast : value;
  return static_cast<std::int32_t>(above > kMost ? kMost : above);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
