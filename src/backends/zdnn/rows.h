// What rows of numbers have in common is taken off them before they are rounded: it changes
// nothing, but how finely that happens.
#pragma once

#include <cstdint>

namespace shunt::zdnn {

/// The largest of a row off each of its elements, if it is finite. Returns it.
float take_off_largest(float* row, std::int64_t n);

/// The mean of a row off each of its elements.
void take_off_mean(float* row, std::int64_t n);

}  // namespace shunt::zdnn
