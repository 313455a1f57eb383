// check_op() for an op that need not be in the list of ops.
#pragma once

#include "graph/op.h"
#include "shunt/check_ops.h"

namespace shunt {

/// As check_op(). NotFound if the op has no test cases.
Result<OpCasesCheck> check_cases(Device& device, const Op& op, const CheckOpOptions& options = {});

}  // namespace shunt
