// Four floats at a time, for the encoders' inner loops: sums that a compiler may not reorder by
// itself. GCC and clang have such vectors on every machine.
#pragma once

#include <cstddef>

namespace shunt::formats {

using Lanes = float __attribute__((vector_size(16)));
inline constexpr int kLanes = 4;
/// Arrays that lanes are loaded from begin at multiples of this: then a load is one instruction,
/// also of devices, whose local memory is slow.
inline constexpr std::size_t kLanesAlign = sizeof(Lanes);

/// `from`: at a multiple of kLanesAlign.
inline Lanes load_lanes(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, __builtin_assume_aligned(from, kLanesAlign), sizeof lanes);
  return lanes;
}
inline void store_lanes(Lanes lanes, float* to) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}
inline Lanes all_lanes(float value) {
  return Lanes{value, value, value, value};
}
inline float sum_lanes(Lanes lanes) {
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}
inline Lanes clamp_lanes(Lanes lanes, float low, float high) {
  lanes = lanes < low ? all_lanes(low) : lanes;
  return lanes > high ? all_lanes(high) : lanes;
}
/// To the nearest integer, even if between two; for magnitudes below 2^22. A float has no bits for
/// a fraction in addition to the constant.
inline Lanes round_lanes(Lanes lanes) {
  constexpr float kNoFraction = 0x1.8p23f;
  return (lanes + kNoFraction) - kNoFraction;
}

}  // namespace shunt::formats
