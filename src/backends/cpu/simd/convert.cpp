#include "backends/cpu/simd/convert.h"

#include <cstring>

#include "backends/cpu/simd/targets.h"
#include "tensor/formats/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/convert.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/formats-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

template <class Format>
void decode_blocks(const std::byte* from, float* to, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock, from += Format::kBytes) {
    const auto block = Format::load(from);
    for (std::size_t j = 0; j < kBlock / kLanes; ++j) {
      hn::StoreU(block.vector(j), D(), to + i + j * kLanes);
    }
  }
  if constexpr (Format::kPlain) {
    if (i == count) return;
    alignas(64) std::byte copy[Format::kBytes];
    alignas(64) float values[kBlock];
    const auto block = load_tail<Format>(from, count - i, copy);
    for (std::size_t j = 0; j < kBlock / kLanes; ++j) {
      hn::StoreU(block.vector(j), D(), values + j * kLanes);
    }
    std::memcpy(to + i, values, (count - i) * sizeof(float));
  }
}

void DecodeF16(const std::byte* from, float* to, std::int64_t n) {
  decode_blocks<F16>(from, to, n);
}
void DecodeBF16(const std::byte* from, float* to, std::int64_t n) {
  decode_blocks<BF16>(from, to, n);
}
void DecodeQ8(const std::byte* from, float* to, std::int64_t n) {
  decode_blocks<Q8_0>(from, to, n);
}
void DecodeQ4(const std::byte* from, float* to, std::int64_t n) {
  decode_blocks<Q4_0>(from, to, n);
}

void EncodeF16(const float* from, std::byte* to, std::int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const hn::Rebind<hwy::float16_t, D> dh;
  const hn::Rebind<std::uint16_t, D> d16;
  auto* bits = reinterpret_cast<std::uint16_t*>(to);
  for (; n >= static_cast<std::int64_t>(kLanes); n -= kLanes, from += kLanes, bits += kLanes) {
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, hn::LoadU(D(), from))), d16, bits);
  }
  to = reinterpret_cast<std::byte*>(bits);
#endif
  formats::encode_f16(from, to, n);
}

void EncodeBF16(const float* from, std::byte* to, std::int64_t n) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  auto* bits = reinterpret_cast<std::uint16_t*>(to);
  for (; n >= static_cast<std::int64_t>(kLanes); n -= kLanes, from += kLanes, bits += kLanes) {
    const V value = hn::LoadU(D(), from);
    const auto wide = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(du, 1U));
    const auto rounded = hn::Add(wide, hn::Add(odd, hn::Set(du, 0x7fffU)));
    const auto quiet = hn::Or(wide, hn::Set(du, 0x400000U));
    const auto upper =
        hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, upper)), d16, bits);
  }
  formats::encode_bf16(from, reinterpret_cast<std::byte*>(bits), n);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(DecodeF16);
HWY_EXPORT(DecodeBF16);
HWY_EXPORT(DecodeQ8);
HWY_EXPORT(DecodeQ4);
HWY_EXPORT(EncodeF16);
HWY_EXPORT(EncodeBF16);

void decode(Level level, DType from_type, const std::byte* from, float* to, std::int64_t n) {
  switch (from_type) {
    case DType::kF16:
      return SHUNT_DISPATCH(level, DecodeF16)(from, to, n);
    case DType::kBF16:
      return SHUNT_DISPATCH(level, DecodeBF16)(from, to, n);
    case DType::kQ8_0:
      return SHUNT_DISPATCH(level, DecodeQ8)(from, to, n);
    case DType::kQ4_0:
      return SHUNT_DISPATCH(level, DecodeQ4)(from, to, n);
    default:
      return trait(from_type).decode(from, to, n);
  }
}

void encode(Level level, const float* from, DType to_type, std::byte* to, std::int64_t n) {
  switch (to_type) {
    case DType::kF16:
      return SHUNT_DISPATCH(level, EncodeF16)(from, to, n);
    case DType::kBF16:
      return SHUNT_DISPATCH(level, EncodeBF16)(from, to, n);
    default:
      return trait(to_type).encode(from, to, n);
  }
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
