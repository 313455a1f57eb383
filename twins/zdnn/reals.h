// The functions that a C library computes a little differently on each machine, from IEEE double
// operations in a fixed order only: the same bits everywhere. About 1e-15 relative, where a
// DLFLOAT16 result needs 1e-3.
#pragma once

namespace zdnn_twin {

double exp_of(double x);  // 0 far below, infinity far above
double log_of(double x);  // log(0) is minus infinity, that of less is NaN
double tanh_of(double x);
double sigmoid_of(double x);  // 1 / (1 + exp(-x))
double gelu_of(
    double x);  // x/2 * (1 + tanh(0.7978845608 * (x + 0.044715 x^3))), as zDNN documents it

double round_half_away(double x);
double round_half_even(double x);

}  // namespace zdnn_twin
