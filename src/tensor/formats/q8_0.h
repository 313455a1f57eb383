// Q8_0: 32 elements in 34 bytes: a scale d (F16, little-endian) and 32 signed bytes q; value = q *
// d.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::formats::q8_0 {

inline constexpr std::int64_t kElements = 32;
inline constexpr std::size_t kBytes = 34;

void decode(const std::byte* from, float* to, std::int64_t n);
/// d is such that the element of largest magnitude becomes 127 or -127; halves round away from
/// zero. Elements that are not finite have no meaning in this format and decode to anything.
void encode(const float* from, std::byte* to, std::int64_t n);

}  // namespace shunt::formats::q8_0
