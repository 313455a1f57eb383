// Arithmetic on sizes that come from outside: products and sums of numbers within 63 bits, and
// whether they still are.
#pragma once

#include <cstdint>
#include <limits>

namespace shunt {

inline constexpr std::int64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

/// The product, or kMaxSize if it is larger. Neither factor may be negative.
constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  return b != 0 && a > kMaxSize / b ? kMaxSize : a * b;
}

/// The sum, or kMaxSize if it is larger. Neither term may be negative.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  return a > kMaxSize - b ? kMaxSize : a + b;
}

/// Multiplies `*product` by `factor`; false, and nothing changed, if the result has more than 63
/// bits. Neither may be negative.
constexpr bool multiply_into(std::int64_t* product, std::int64_t factor) {
  if (factor != 0 && *product > kMaxSize / factor) return false;
  *product *= factor;
  return true;
}

}  // namespace shunt
