// The levels of IQ4_NL and IQ4_XS: closer to each other near zero, where most weights are.
#pragma once

#include "tensor/formats/scale_search.h"

namespace shunt::formats {

inline constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

using Iq4Levels = TableLevels<kIq4Levels>;
/// From the largest value far within the table, so that few values have most levels, to far beyond.
inline constexpr Scan kIq4Scan = {.from = 80.0f, .step = 2.0f, .count = 41};

}  // namespace shunt::formats
