// The search for the levels of IQ4_NL and IQ4_XS.
#pragma once

#include "tensor/formats/levels.h"
#include "tensor/formats/scale_search.h"

namespace shunt::formats {

using Iq4Levels = TableLevels<kIq4Levels>;
/// From the largest value far within the table, so that few values have most levels, to far beyond.
inline constexpr Scan kIq4Scan = {.from = 80.0f, .step = 2.0f, .count = 41};

}  // namespace shunt::formats
