// As HWY_EXPORT and SHUNT_DISPATCH, for functions that are compiled for AVX2 with AVX-VNNI, too
// (avx2_vnni.h). Included after foreach_target.h.
#pragma once

#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/int8_targets.h"

#if SHUNT_HAS_AVX2_VNNI
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared can have none
#define SHUNT_EXPORT_INT8(NAME)             \
  namespace N_AVX2_VNNI {                   \
  decltype(HWY_STATIC_DISPATCH(NAME)) NAME; \
  }                                         \
  HWY_EXPORT(NAME)
// NOLINTEND(bugprone-macro-parentheses)
#define SHUNT_DISPATCH_INT8(LEVEL, NAME) \
  (*((LEVEL).is_avx2_vnni() ? &N_AVX2_VNNI::NAME : &SHUNT_DISPATCH(LEVEL, NAME)))
#else
#define SHUNT_EXPORT_INT8(NAME) HWY_EXPORT(NAME)
#define SHUNT_DISPATCH_INT8(LEVEL, NAME) SHUNT_DISPATCH(LEVEL, NAME)
#endif
