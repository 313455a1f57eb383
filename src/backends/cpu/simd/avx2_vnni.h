// AVX2 with AVX-VNNI (client machines without AVX-512), a level that Highway has no target for.
// Code that multiplies bytes is compiled once more for AVX2 alone, by files NAME_avx2_vnni.cpp that
// include this and then NAME.cpp. The difference is dot4() (int8_dot-inl.h). All code of Shunt is
// then in N_AVX2_VNNI, so that nothing has the name of plain AVX2 code. Highway's own is the same
// code and keeps its names. int8_dispatch.h calls it.
#pragma once

#define SHUNT_AVX2_VNNI
#define SHUNT_ONE_TARGET HWY_AVX2

// clang-format off
#include "backends/cpu/simd/int8_targets.h"
#include "backends/cpu/simd/one_target.h"
// clang-format on

namespace hwy {
namespace N_AVX2_VNNI = N_AVX2;
}
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_AVX2_VNNI
