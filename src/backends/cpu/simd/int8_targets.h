// As targets.h, and AVX-512 with VNNI and VBMI (Ice Lake, Zen 4): for products of integers.
#pragma once

#include "backends/cpu/simd/targets_elsewhere.h"

// A build that leaves out targets leaves out AVX2 with AVX-VNNI as well: see avx2_vnni.h.
#if defined(__x86_64__) && !defined(SHUNT_LEFT_OUT_TARGETS)
#define SHUNT_HAS_AVX2_VNNI 1
#else
#define SHUNT_HAS_AVX2_VNNI 0
#endif

#if defined(__aarch64__)
#define HWY_COMPILE_ALL_ATTAINABLE  // as targets.h
#endif
#define HWY_WANT_AVX3_DL 1
#ifndef SHUNT_LEFT_OUT_TARGETS
#define SHUNT_LEFT_OUT_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | SHUNT_LEFT_OUT_TARGETS)
