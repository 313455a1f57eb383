// Q4_0: 32 elements in 18 bytes: a scale d (F16, little-endian) and 16 bytes of 4-bit numbers q.
// Element j is in the low nibble of byte j, element j + 16 in its high nibble; value = (q - 8) * d.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::formats::q4_0 {

inline constexpr std::int64_t kElements = 32;
inline constexpr std::size_t kBytes = 18;

void decode(const std::byte* from, float* to, std::int64_t n);
/// d is such that the element of largest magnitude becomes -8. Elements that are not finite have no
/// meaning in this format and decode to anything.
void encode(const float* from, std::byte* to, std::int64_t n);

}  // namespace shunt::formats::q4_0
