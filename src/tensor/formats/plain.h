// The types that are C++ types: F32, F64 and the integers, in the host's byte order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace shunt::formats {

/// `value` as the integer type T: rounded to nearest even, saturated; NaN is 0.
template <class T, class Float>
T round_to_integer(Float value) {
  // -2^(bits-1) is exact as a float, and so is its negative, which is one past the highest integer;
  // the highest itself is not, where T has more bits than the float.
  constexpr auto kLowest = static_cast<Float>(std::numeric_limits<T>::lowest());
  const Float rounded = std::nearbyint(value);
  if (std::isnan(rounded)) return 0;
  if (rounded <= kLowest) return std::numeric_limits<T>::lowest();
  if (rounded >= -kLowest) return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

/// `value` rounded to nearest; infinite if it is beyond F32.
inline float narrow(double value) {
  // Halfway between the largest F32 and the next power of two: from here on rounding goes up.
  constexpr double kBeyond = 0x1.ffffffp127;
  if (std::fabs(value) >= kBeyond) {
    return std::copysign(std::numeric_limits<float>::infinity(), value < 0 ? -1.0f : 1.0f);
  }
  return static_cast<float>(value);
}

template <class T>
void decode_plain(const std::byte* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    to[i] = static_cast<float>(value);
  }
}

template <class T>
void encode_plain(const float* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T value = round_to_integer<T>(from[i]);
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  }
}

inline void decode_f64(const std::byte* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    to[i] = narrow(value);
  }
}
inline void encode_f64(const float* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = from[i];
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  }
}

inline void decode_f32(const std::byte* from, float* to, std::int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
}
inline void encode_f32(const float* from, std::byte* to, std::int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
}

}  // namespace shunt::formats
