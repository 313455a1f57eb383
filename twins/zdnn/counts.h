// Counts of events so far, for tests to read.
#pragma once

#include <cstdint>

#include "include/zdnn_twin.h"

namespace zdnn_twin {

void count(zdnn_twin_counter counter);
void count_call(nnpa_function_code code);

}  // namespace zdnn_twin
