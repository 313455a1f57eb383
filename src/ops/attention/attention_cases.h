#pragma once

#include "graph/op.h"

namespace shunt {

void attention_cases(const CaseSink& sink);

}  // namespace shunt
