// The levels of IQ4_NL and IQ4_XS: closer to each other near zero, where most weights are.
#pragma once

namespace shunt::formats {

inline constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace shunt::formats
