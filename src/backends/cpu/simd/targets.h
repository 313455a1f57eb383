// Which instruction sets vector code is compiled for. Include it before any Highway header.
//
// On x86-64: one lane (which every such machine has; Highway 1.0.3 knows no plain SSE2), SSE4, AVX2
// with FMA and F16C, AVX-512. Those left out are barely faster than the one below them and would
// cost a third of the build time. SVE and RISC-V vectors, whose size is not known when compiling,
// are left out because tiles keep arrays of vectors: ARM uses NEON.
#pragma once

#include "backends/cpu/simd/targets_elsewhere.h"

// One lane is there where every machine has more, too: it is the reference for the others.
#if defined(__aarch64__)
#define HWY_COMPILE_ALL_ATTAINABLE
#endif

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
