// int8_few.cpp for AVX2 with AVX-VNNI, see avx2_vnni.h.
#include "backends/cpu/simd/int8_targets.h"

#if SHUNT_HAS_AVX2_VNNI
#include "backends/cpu/simd/avx2_vnni.h"
// After avx2_vnni.h, which sets the target.
#include "backends/cpu/simd/int8_few.cpp"
#endif
