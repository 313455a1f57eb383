// Numbers in blocks are little-endian wherever they are read, those in files as the file is. Put
// together from bytes, so that the same code is right on any host and at any alignment; compilers
// make one load of it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace shunt {

/// The unsigned integer of as many bytes as T.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// The number of type T whose little-endian bytes start at `from`.
template <class T>
constexpr T load_little(const std::byte* from) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  BitsOf<T> bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = static_cast<BitsOf<T>>(bits | (static_cast<BitsOf<T>>(from[i]) << (8 * i)));
  }
  return std::bit_cast<T>(bits);
}

/// The bits of a number of 1 to 8 bytes, whose bytes start at `from` in this order.
constexpr std::uint64_t load_bits(const std::byte* from, std::size_t bytes, std::endian order) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = order == std::endian::little ? i : bytes - 1 - i;
    bits |= std::to_integer<std::uint64_t>(from[at]) << (8 * i);
  }
  return bits;
}

/// Writes the little-endian bytes of `value` from `to` on.
template <class T>
constexpr void store_little(T value, std::byte* to) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
}

}  // namespace shunt
