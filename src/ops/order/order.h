/// \file
/// Where elements stand among others. `x`: F32, F16 or BF16.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

const Op& argmax_op();
/// The index of the largest element of each row, of the first if there are several. It is some
/// index of the row if one of its elements is not a number. `x`: [C, R, X2, X3], C at least 1. The
/// result is I32 [R, X2, X3].
Result<Value> argmax(GraphBuilder& g, Operand x);

/// The order of sorted elements.
enum class SortOrder : std::uint8_t { kAscending, kDescending };
/// "ascending", "descending".
std::string_view to_string(SortOrder order);

/// Parameters of argsort().
struct ArgsortParams {
  SortOrder order = SortOrder::kAscending;
  template <class F>
  void each(F f) const {
    f("order", order);
  }
};

const Op& argsort_op();
/// The indices of the elements of each row in the order of their values. Equals keep their order,
/// and elements that are not a number come last. `x`: any shape. The result is I32 of x's shape.
Result<Value> argsort(GraphBuilder& g, Operand x, ArgsortParams params = {});

/// Parameters of top_k().
struct TopKParams {
  std::int64_t k = 1;
  template <class F>
  void each(F f) const {
    f("k", k);
  }
};

const Op& top_k_op();
/// The indices of the k largest elements of each row, largest first: the first k of argsort in
/// descending order. `x`: [C, R, X2, X3], C fixed, k from 1 to C. The result is I32 [k, R, X2,
/// X3].
Result<Value> top_k(GraphBuilder& g, Operand x, TopKParams params);

}  // namespace shunt
