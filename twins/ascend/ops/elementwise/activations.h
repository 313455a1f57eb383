// Activation functions that several operators compute.
#pragma once

namespace ascend_twin {

double silu_of(double x);      ///< x * sigmoid(x)
double gelu_erf_of(double x);  ///< x/2 * (1 + erf(x / sqrt(2)))

}  // namespace ascend_twin
