#include "backends/cpu/simd/tiles.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/tiles.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/bf16_round-inl.h"
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/int8_panel-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void PackTileColumns(const float* x, std::size_t x_stride, std::size_t count, std::size_t k,
                     std::byte* to) {
  constexpr std::size_t kColumnBytes = kTileBytes / kTileSide;
  for (std::size_t first = 0; first < k; first += kTileDepth, to += kTileBytes) {
    const std::size_t here = std::min<std::size_t>(kTileDepth, k - first);
    if (count < kTileSide || here < kTileDepth) std::memset(to, 0, kTileBytes);
    for (std::size_t c = 0; c < count; ++c) {
      round_to_bf16(x + c * x_stride + first, here,
                    reinterpret_cast<std::uint16_t*>(to + c * kColumnBytes));
    }
  }
}

constexpr bool kLittle = std::endian::native == std::endian::little;

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

/// Byte I, in memory order, of each lane.
template <int I>
HWY_INLINE V byte_of(VU lanes) {
  constexpr int kByte = kLittle ? I : 3 - I;
  VU byte = lanes;
  if constexpr (kByte > 0) byte = hn::ShiftRight<8 * kByte>(byte);
  if constexpr (kByte < 3) byte = hn::And(byte, hn::Set(DU(), 0xffU));
  return hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), byte));
}

/// The upper halves of two numbers, the first one's first in memory.
HWY_INLINE VU upper_halves(VU first, VU second) {
  const VU upper = hn::Set(DU(), 0xffff0000U);
  return kLittle ? hn::Or(hn::ShiftRight<16>(first), hn::And(second, upper))
                 : hn::Or(hn::And(first, upper), hn::ShiftRight<16>(second));
}

/// Two numbers of each lane's row to their places in the panel. The upper part is the number with
/// its last bits cut off. The rest is exact, and is rounded.
HWY_INLINE void store_parts(V first, V second, std::byte* to) {
  const DU d;
  const auto rest = [&](V number) HWY_ATTR {
    const VU upper = hn::And(hn::BitCast(d, number), hn::Set(d, 0xffff0000U));
    const V lower = hn::Sub(number, hn::BitCast(D(), upper));
    return hn::Add(hn::BitCast(d, lower), hn::Set(d, 0x8000U));
  };
  hn::StoreU(upper_halves(hn::BitCast(d, first), hn::BitCast(d, second)), d,
             reinterpret_cast<std::uint32_t*>(to));
  hn::StoreU(upper_halves(rest(first), rest(second)), d,
             reinterpret_cast<std::uint32_t*>(to + kLowerPart));
}

void SplitPanel(Int8Need need, const std::byte* codes, std::size_t k, std::byte* panel) {
  const D d;
  const auto scales = static_cast<std::size_t>(need.scales);
  const auto mins = static_cast<std::size_t>(need.mins);
  for (std::size_t first = 0; first < k; first += 32) {
    const auto* numbers = reinterpret_cast<const float*>(codes + kCodeBytes);
    for (std::size_t r = 0; r < kInt8Rows; r += kLanes) {
      for (std::size_t four = 0; four < 8; ++four) {
        const V scale = hn::LoadU(d, numbers + four * scales / 8 * kInt8Rows + r);
        // Codes without a minimum have an offset.
        const V least = mins == 0
                            ? hn::Mul(scale, hn::Set(d, 128.0F))
                            : hn::LoadU(d, numbers + (scales + four * mins / 8) * kInt8Rows + r);
        const VU lanes = hn::LoadU(
            DU(), reinterpret_cast<const std::uint32_t*>(codes + four * kFourBytes + r * 4));
        const auto value = [&](V code) HWY_ATTR { return hn::MulSub(scale, code, least); };
        std::byte* to = panel + 2 * four * kFourBytes + r * 4;
        store_parts(value(byte_of<0>(lanes)), value(byte_of<1>(lanes)), to);
        store_parts(value(byte_of<2>(lanes)), value(byte_of<3>(lanes)), to + kFourBytes);
      }
    }
    codes += panel_block_bytes(scales, mins);
    panel += 16 * kFourBytes;
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(PackTileColumns);
HWY_EXPORT(SplitPanel);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

void pack_tile_columns(Level level, const float* x, std::int64_t x_stride, std::int64_t count,
                       std::int64_t k, std::byte* to) {
  SHUNT_DISPATCH(level, PackTileColumns)(x, size(x_stride), size(count), size(k), to);
}

void split_panel(Level level, Int8Need need, const std::byte* codes, std::int64_t k,
                 std::byte* panel) {
  SHUNT_DISPATCH(level, SplitPanel)(need, codes, size(k), panel);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
