// The meaning of argsort and top_k, for both of their references.
#pragma once

#include "graph/op.h"
#include "ops/order/order.h"

namespace shunt {

/// The first of each row's indices in an order, as many as a row of `result` has.
void reference_order(const RefTensor& x, SortOrder order, RefTensor& result);

}  // namespace shunt
