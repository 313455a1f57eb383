// More functions like those of common/reals.h: IEEE double operations in a fixed order, the same
// bits on every machine. The relative error is below 1e-14, that of a power below 1e-14 times its
// logarithm.
#pragma once

namespace ascend_twin {

double sin_of(double x);  ///< of any size; NaN of an infinity
double cos_of(double x);
double erf_of(double x);
double expm1_of(double x);  ///< exp(x) - 1
double log1p_of(double x);  ///< log(1 + x)
/// With IEEE's special cases. Whole exponents up to 1024 by multiplication, 1/2 by a square root.
double pow_of(double base, double exponent);

}  // namespace ascend_twin
