// check_op() for an op that need not be in the list of ops.
#pragma once

#include "conformance/op_case.h"
#include "graph/op.h"
#include "shunt/check_ops.h"

namespace shunt {

/// As check_op(). NotFound if the op has no test cases. `store` keeps the data of all cases for the
/// next device; null: of one case at a time.
Result<OpCasesCheck> check_cases(Device& device, const Op& op, const CheckOpOptions& options = {},
                                 OpCaseStore* store = nullptr);

}  // namespace shunt
