// Ops of two sources of the same shape, F32 in most.
#pragma once

#include "graph/op.h"

namespace shunt {

/// Sources `a` and `b` are F32 and of the same shape.
Status expect_pair(const OpInfo& info, SourceTensors sources, std::size_t a, std::size_t b);

}  // namespace shunt
