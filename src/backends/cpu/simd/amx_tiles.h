// The tile registers of AMX.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::cpu::simd {

#if defined(__x86_64__)

/// The calling thread's tile registers. As text, so that no option of the compiler is needed: only
/// who has asked has_amx() may use them.
struct AmxTiles {
  /// Eight of 16 rows of 64 bytes each.
  static void configure() {
    // Intel SDM, volume 1, "Palette 1": bytes of a row from 16 on, rows from 48 on.
    struct alignas(64) Configuration {
      std::uint8_t palette = 1;
      std::uint8_t start_row = 0;
      std::uint8_t reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static constexpr Configuration kAll;
    asm volatile("ldtilecfg %0" : : "m"(kAll));
  }
  /// Empty registers make changing threads cheap.
  static void release() { asm volatile("tilerelease"); }

  template <int T>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  void load(const std::byte* from, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(T) : "memory");
  }
  template <int T>
  void store(std::byte* to, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(T) : "memory");
  }
  /// Products of BF16, sums in F32.
  template <int C, int A, int B>
  void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
  /// Products of signed bytes of A with unsigned ones of B, sums in 32 bits.
  template <int C, int A, int B>
  void multiply_add_bytes() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

#endif

}  // namespace shunt::cpu::simd
