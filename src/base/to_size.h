// Numbers as sizes and positions of memory.
#pragma once

#include <concepts>
#include <cstddef>

namespace shunt {

/// Throws std::length_error with the number. guarded() makes an Error of it.
[[noreturn]] void refuse_negative_size(long long number);

/// A signed number as a number of bytes, a number of elements or a position: tensors count with
/// signed numbers, spans and allocations with unsigned ones. Throws std::length_error if the number
/// is negative.
template <std::signed_integral Number>
constexpr std::size_t to_size(Number number) {
  if (number < 0) [[unlikely]]
    refuse_negative_size(number);
  return static_cast<std::size_t>(number);
}

/// The same for an unsigned number that a size can have.
template <std::unsigned_integral Number>
constexpr std::size_t to_size(Number number) {
  static_assert(sizeof(Number) <= sizeof(std::size_t));
  return static_cast<std::size_t>(number);
}

}  // namespace shunt
