// As Highway's HWY_DYNAMIC_DISPATCH, which takes the target of the whole process: calls the
// function of a table (HWY_EXPORT) for a level. Included after foreach_target.h.
#pragma once

#include "backends/cpu/simd/level.h"
#include "hwy/highway.h"

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define SHUNT_DISPATCH(LEVEL, NAME) (*((void)(LEVEL), &HWY_STATIC_DISPATCH(NAME)))
#else
#define SHUNT_DISPATCH(LEVEL, NAME) \
  (*HWY_DISPATCH_TABLE(NAME)[(LEVEL).entry(HWY_CHOSEN_TARGET_MASK_TARGETS)])
#endif
