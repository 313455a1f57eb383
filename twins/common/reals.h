// Functions that C libraries compute a little differently on each machine, here from IEEE double
// operations in a fixed order: the same bits everywhere. The relative error is below 4e-15, that of
// tanh below 2e-12, and the absolute error of gelu below 1e-15 times |x|: less than the rounding of
// a 16-bit or FP32 result.
#pragma once

namespace twin {

/// 0 below -700, infinity above 700.
double exp_of(double x);
/// log(0) is minus infinity, that of less NaN.
double log_of(double x);
double tanh_of(double x);
/// 1 / (1 + exp(-x)).
double sigmoid_of(double x);
/// x/2 * (1 + tanh(0.7978845608 * (x + 0.044715 x^3))), the usual approximation.
double gelu_of(double x);

double round_half_away(double x);
double round_half_even(double x);

}  // namespace twin
