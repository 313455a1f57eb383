#include "backends/cpu/simd/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace shunt::cpu::simd {

#if defined(__x86_64__) && defined(__linux__)

namespace {

/// CPUID leaf 7, EDX (Intel SDM, volume 2, CPUID).
constexpr unsigned kAmxBf16 = 1U << 22;
constexpr unsigned kAmxTile = 1U << 24;
constexpr unsigned kAmxInt8 = 1U << 25;
/// Linux, Documentation/arch/x86/xstate.rst.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA

bool has_features(unsigned bits) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bits) == bits;
}

bool ask() {
  if (!has_features(kAmxBf16 | kAmxTile)) return false;
  // The system's answer says as well whether it keeps tiles when threads change.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_amx() {
  static const bool has = ask();
  return has;
}

bool has_amx_int8() {
  return has_features(kAmxInt8) && has_amx();
}

#else

bool has_amx() {
  return false;
}

bool has_amx_int8() {
  return false;
}

#endif

}  // namespace shunt::cpu::simd
