// As Highway's HWY_EXPORT and HWY_DYNAMIC_DISPATCH, for functions that are compiled for AVX2 with
// AVX-VNNI, too (avx2_vnni.h). Included after foreach_target.h.
#pragma once

#include "backends/cpu/simd/int8_targets.h"
#include "backends/cpu/simd/level.h"
#include "hwy/highway.h"

#if SHUNT_HAS_AVX2_VNNI
#define SHUNT_EXPORT(NAME)                  \
  namespace N_AVX2_VNNI {                   \
  decltype(HWY_STATIC_DISPATCH(NAME)) NAME; \
  }                                         \
  HWY_EXPORT(NAME)
#define SHUNT_DISPATCH(NAME) \
  (*(avx2_vnni_in_use() ? &N_AVX2_VNNI::NAME : &HWY_DYNAMIC_DISPATCH(NAME)))
#else
#define SHUNT_EXPORT(NAME) HWY_EXPORT(NAME)
#define SHUNT_DISPATCH(NAME) HWY_DYNAMIC_DISPATCH(NAME)
#endif
