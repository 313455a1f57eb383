// f32 and f64 operations in the directed roundings rz, rm and rp, by integer arithmetic. Rounding
// to nearest is what the host's arithmetic does. NaN operands are the caller's matter.
#pragma once

#include "cuda/instructions/float_values.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// a * b + c, rounded once. A zero result follows IEEE 754: -0 in rm if the terms cancel.
template <class T>
T fma_rounded(T a, T b, T c, Rounding rounding);
template <class T>
T divide_rounded(T a, T b, Rounding rounding);
template <class T>
T sqrt_rounded(T a, Rounding rounding);

extern template float fma_rounded(float, float, float, Rounding);
extern template double fma_rounded(double, double, double, Rounding);
extern template float divide_rounded(float, float, Rounding);
extern template double divide_rounded(double, double, Rounding);
extern template float sqrt_rounded(float, Rounding);
extern template double sqrt_rounded(double, Rounding);

/// An integer's or another format's value (sign, significand * 2^exponent) as T.
template <class T>
T rounded_from(bool negative, std::uint64_t significand, int exponent, Rounding rounding);
extern template float rounded_from(bool, std::uint64_t, int, Rounding);
extern template double rounded_from(bool, std::uint64_t, int, Rounding);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
