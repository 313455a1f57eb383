#include "backends/cpu/simd/peak_loops.h"

#include "backends/cpu/simd/amx.h"
#include "backends/cpu/simd/amx_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shunt::cpu::simd {

#if defined(__x86_64__)

namespace {

// A clever compiler would compute only once chains that begin alike, and operations that depend on
// nothing that changes. So each chain begins with a number of its own, and an operand goes through
// an empty asm.

/// A copy is passed on: sums whose own address escapes would not stay in registers.
template <class V>
[[gnu::always_inline]] inline void keep_sums(const V (&sums)[kPeakChains]) {
  V copy[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) copy[i] = sums[i];
  keep_result(copy);
}

double operations(std::int64_t rounds, int multiply_adds) {
  return 2.0 * kPeakChains * multiply_adds * static_cast<double>(rounds);
}

[[gnu::target("avx512f,avx512bw,avx512vnni")]] double dot_avx512_vnni(Level, std::int64_t rounds) {
  __m512i a = _mm512_set1_epi8(1);
  const __m512i b = _mm512_set1_epi8(-1);
  __m512i sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm512_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
  }
  keep_sums(sums);
  return operations(rounds, 64);
}

[[gnu::target("avx2,avxvnni")]] double dot_avx_vnni(Level, std::int64_t rounds) {
  __m256i a = _mm256_set1_epi8(1);
  const __m256i b = _mm256_set1_epi8(-1);
  __m256i sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+x"(a));
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm256_dpbusd_avx_epi32(sums[i], a, b);
  }
  keep_sums(sums);
  return operations(rounds, 32);
}

// Without VNNI: products in pairs to 16 bits, pairs of these to 32 bits, and the sum.

[[gnu::target("avx512f,avx512bw")]] double dot_avx512_maddubs(Level, std::int64_t rounds) {
  __m512i a = _mm512_set1_epi8(1);
  const __m512i b = _mm512_set1_epi8(-1);
  const __m512i ones = _mm512_set1_epi16(1);
  __m512i sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm512_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) {
      asm volatile("" : "+v"(a));
      sums[i] = _mm512_add_epi32(sums[i], _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), ones));
    }
  }
  keep_sums(sums);
  return operations(rounds, 64);
}

[[gnu::target("avx2")]] double dot_avx2(Level, std::int64_t rounds) {
  __m256i a = _mm256_set1_epi8(1);
  const __m256i b = _mm256_set1_epi8(-1);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) {
      asm volatile("" : "+x"(a));
      sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  keep_sums(sums);
  return operations(rounds, 32);
}

[[gnu::target("sse4.1")]] double dot_sse4(Level, std::int64_t rounds) {
  __m128i a = _mm_set1_epi8(1);
  const __m128i b = _mm_set1_epi8(-1);
  const __m128i ones = _mm_set1_epi16(1);
  __m128i sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) {
      asm volatile("" : "+x"(a));
      sums[i] = _mm_add_epi32(sums[i], _mm_madd_epi16(_mm_maddubs_epi16(a, b), ones));
    }
  }
  keep_sums(sums);
  return operations(rounds, 16);
}

[[gnu::target("avx512f,avx512bw,avx512bf16")]] double dot_avx512_bf16(Level, std::int64_t rounds) {
  // 2^-126 times 1, so that sums stay normal numbers.
  __m512i a = _mm512_set1_epi16(0x0080);
  const __m512i b = _mm512_set1_epi16(0x3f80);
  __m512 sums[kPeakChains];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(1 + i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) {
      sums[i] =
          _mm512_dpbf16_ps(sums[i], reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
    }
  }
  keep_sums(sums);
  return operations(rounds, 32);
}

/// Tiles of ones, four sums.
template <int Depth, class MultiplyAll>
double tile_products(std::int64_t rounds, std::uint8_t one_byte, const MultiplyAll& multiply) {
  alignas(64) std::byte ones[1024];
  std::fill_n(ones, sizeof ones, std::byte{one_byte});
  AmxTiles::configure();
  AmxTiles tiles;
  tiles.load<4>(ones, 64);
  tiles.load<5>(ones, 64);
  tiles.load<6>(ones, 64);
  tiles.load<7>(ones, 64);
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
  for (std::int64_t round = 0; round < rounds; ++round) multiply(tiles);
  tiles.store<0>(ones, 64);
  AmxTiles::release();
  keep_result(ones);
  return 2.0 * 4 * 16 * 16 * Depth * static_cast<double>(rounds);
}
double dot_amx_int8(Level, std::int64_t rounds) {
  return tile_products<64>(rounds, 1, [](AmxTiles& tiles) {
    tiles.multiply_add_bytes<0, 4, 6>();
    tiles.multiply_add_bytes<1, 4, 7>();
    tiles.multiply_add_bytes<2, 5, 6>();
    tiles.multiply_add_bytes<3, 5, 7>();
  });
}
double dot_amx_bf16(Level, std::int64_t rounds) {
  // 0x3f3f is 0.746.
  return tile_products<32>(rounds, 0x3f, [](AmxTiles& tiles) {
    tiles.multiply_add<0, 4, 6>();
    tiles.multiply_add<1, 4, 7>();
    tiles.multiply_add<2, 5, 6>();
    tiles.multiply_add<3, 5, 7>();
  });
}

bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}
bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16");
}
bool has_avx512_bw() {
  return __builtin_cpu_supports("avx512bw");
}
bool has_avx_vnni() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avxvnni");
}
bool has_avx2() {
  return __builtin_cpu_supports("avx2");
}
bool has_sse4() {
  return __builtin_cpu_supports("sse4.1");
}

constexpr PeakLoop kLoops[] = {
    {Peak::kInt8, "AMX", "amx", false, has_amx_int8, dot_amx_int8},
    {Peak::kInt8, "AVX-512 VNNI", "avx3", false, has_avx512_vnni, dot_avx512_vnni},
    {Peak::kInt8, "AVX-512 maddubs", "avx3", true, has_avx512_bw, dot_avx512_maddubs},
    {Peak::kInt8, "AVX-VNNI", "avx2_vnni", false, has_avx_vnni, dot_avx_vnni},
    {Peak::kInt8, "AVX2 maddubs", "avx2", true, has_avx2, dot_avx2},
    {Peak::kInt8, "SSE4 maddubs", "sse4", true, has_sse4, dot_sse4},
    {Peak::kBf16, "AMX", "amx", false, has_amx, dot_amx_bf16},
    {Peak::kBf16, "AVX-512 BF16", "avx3", false, has_avx512_bf16, dot_avx512_bf16},
};

}  // namespace

std::span<const PeakLoop> x86_peak_loops() {
  return kLoops;
}

#else

std::span<const PeakLoop> x86_peak_loops() {
  return {};
}

#endif

}  // namespace shunt::cpu::simd
