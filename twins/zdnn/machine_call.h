// A call to the machine: how it begins, and how it warns.
#pragma once

#include "include/zdnn.h"

namespace zdnn_twin {

/// Counts a call to the machine's function; the response code that a fault asked for, if it is due.
zdnn_status begin_on_machine(nnpa_function_code code);

/// The warning, counted.
zdnn_status range_violation(const char* reason);

}  // namespace zdnn_twin
