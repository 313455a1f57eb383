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
/// Linux, Documentation/arch/x86/xstate.rst.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA

bool ask() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  // The system's answer says as well whether it keeps tiles when threads change.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_amx() {
  static const bool has = ask();
  return has;
}

#else

bool has_amx() {
  return false;
}

#endif

}  // namespace shunt::cpu::simd
