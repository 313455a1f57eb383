// The common parts of the encoders of the three IQ2 formats.
#pragma once

#include "tensor/formats/signed_vectors.h"

namespace shunt::formats {

/// From the largest magnitude within the levels to far beyond them; and the least level, for values
/// of one magnitude.
inline constexpr Scan kIq2Scan = {.from = 30.0f, .step = 3.0f, .count = 16, .also = 8.0f};
inline constexpr Multiples kIq2Multiples = {.first = 0.125f, .step = 0.25f, .count = 16};

}  // namespace shunt::formats
