#include "backends/cpu/simd/peak_loops.h"

#include <algorithm>
#include <array>

#include "backends/cpu/simd/level.h"
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/peak_loops.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double MultiplyAddF32(std::int64_t rounds) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  using V = hn::Vec<decltype(d)>;
  const V half = hn::Set(d, 0.5F);
  const V one = hn::Set(d, 1.0F);
  V sums[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (V& sum : sums) sum = hn::MulAdd(sum, half, one);
  }
  HWY_ALIGN float result[kPeakChains][kLanes];
  for (int i = 0; i < kPeakChains; ++i) hn::Store(sums[i], d, result[i]);
  keep_result(result);
  return 2.0 * kPeakChains * static_cast<double>(kLanes) * static_cast<double>(rounds);
}

void ReadMemory(const std::byte* memory, std::size_t bytes) {
  const hn::ScalableTag<std::uint64_t> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = 8;
  const auto* words = reinterpret_cast<const std::uint64_t*>(memory);
  V sums[kVectors];
  for (V& sum : sums) sum = hn::Zero(d);
  for (std::size_t at = 0; at < bytes / sizeof(std::uint64_t); at += kVectors * kLanes) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kVectors; ++i) {
      sums[i] = hn::Xor(sums[i], hn::Load(d, words + at + i * kLanes));
    }
  }
  HWY_ALIGN std::uint64_t result[kVectors][kLanes];
  for (std::size_t i = 0; i < kVectors; ++i) hn::Store(sums[i], d, result[i]);
  keep_result(result);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(MultiplyAddF32);
HWY_EXPORT(ReadMemory);

namespace {

bool always() {
  return true;
}

double multiply_add_f32(Level level, std::int64_t rounds) {
  return SHUNT_DISPATCH(level, MultiplyAddF32)(rounds);
}

/// As the compiler makes it of plain code.
double dot_int8(Level, std::int64_t rounds) {
  constexpr std::size_t kElements = 64;
  std::array<std::int8_t, kElements> a;
  std::array<std::int8_t, kElements> b;
  std::array<std::int32_t, kElements / 4> sums = {};
  a.fill(1);
  b.fill(-1);
  for (std::int64_t round = 0; round < rounds; ++round) {
    keep_result(a.data());
    for (std::size_t i = 0; i < kElements; ++i) sums[i / 4] += a[i] * b[i];
  }
  keep_result(sums.data());
  return 2.0 * kElements * static_cast<double>(rounds);
}

/// The loops that every machine has.
constexpr PeakLoop kPlainLoops[] = {
    {Peak::kInt8, "plain code", {}, true, always, dot_int8},
    {Peak::kBf16, "multiply-adds of F32", {}, true, always, multiply_add_f32},
    {Peak::kF32, "multiply-adds of F32", {}, false, always, multiply_add_f32},
};

}  // namespace

const PeakLoop& peak_loop(Level level, Peak peak) {
  const auto loops = x86_peak_loops();
  const auto best = std::ranges::find_if(loops, [&](const PeakLoop& loop) {
    return loop.peak == peak && level.allows(loop.level) && loop.there();
  });
  if (best != loops.end()) return *best;
  const auto* plain = std::ranges::find(kPlainLoops, peak, &PeakLoop::peak);
  return plain != std::end(kPlainLoops) ? *plain : kPlainLoops[0];
}

void read_memory(Level level, std::span<const std::byte> memory) {
  SHUNT_DISPATCH(level, ReadMemory)(memory.data(), memory.size());
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
