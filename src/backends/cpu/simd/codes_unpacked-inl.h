// Decoded groups in memory. A format is decoded by one function, and the loops that read decoded
// groups are shared by all formats of one shape (CodeOrder, group and runs), so that there are few
// instantiations to compile. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODES_UNPACKED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODES_UNPACKED_INL_H
#undef SHUNT_CPU_SIMD_CODES_UNPACKED_INL_H
#else
#define SHUNT_CPU_SIMD_CODES_UNPACKED_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/codes-inl.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

/// Bytes of the largest group of a format: Q6_K's.
inline constexpr std::size_t kMostGroupBytes = 210;

/// A decoded group of any format.
struct Unpacked {
  alignas(64) std::uint8_t codes[256];  ///< in the format's order
  alignas(64) float scales[16];         ///< not yet times the format's kUnit
  alignas(64) float mins[16];
};

/// Decodes `count` groups, of which group i starts at from[i].
using Unpack = void (*)(const std::byte* const* from, std::size_t count, Unpacked* to);
template <class F>
void unpack(const std::byte* const* from, std::size_t count, Unpacked* HWY_RESTRICT to) {
  for (std::size_t i = 0; i < count; ++i) {
    const F group(from[i]);
    HWY_UNROLL(16)
    for (std::size_t v = 0; v < F::kVectors; ++v) {
      hn::Store(group.codes(v), D8(), to[i].codes + v * kBytes);
    }
    group.store_scales(to[i].scales);
    if constexpr (F::kMinRun != 0) group.store_mins(to[i].mins);
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODES_UNPACKED_INL_H
