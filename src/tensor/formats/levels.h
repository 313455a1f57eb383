// The values that numbers of 4 bits stand for. Facts of the formats.
#pragma once

namespace shunt::formats {

/// Of IQ4_NL and IQ4_XS: closer to each other near zero, where most weights are.
inline constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

/// Of MXFP4: floats of 1 sign, 2 exponent and 1 mantissa bit.
inline constexpr float kE2M1Numbers[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                           -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

}  // namespace shunt::formats
