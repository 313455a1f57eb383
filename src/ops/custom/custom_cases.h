// Sample functions that a device which takes op `custom` is tested with.
#pragma once

#include "graph/op.h"

namespace shunt {

void custom_cases(const CaseSink& sink);

}  // namespace shunt
