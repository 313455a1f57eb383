// Orders of rows: all of it, or the first few.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace sorting {

/// NaN is the greatest.
template <class Value>
bool is_less(Value a, Value b) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

/// Of equal elements the first comes first.
template <class Value>
std::vector<std::int64_t> order_of(const std::vector<Value>& row, bool descending) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const Value first = row[static_cast<std::size_t>(descending ? b : a)];
    const Value second = row[static_cast<std::size_t>(descending ? a : b)];
    const bool less = is_less(first, second);
    return less != is_less(second, first) ? less : a < b;
  });
  return order;
}

/// Visits each row along the axis with its order, and the numbers of its elements.
template <class Value, class Visit>
void for_each_row(const std::vector<Value>& values, const Split& split, bool descending,
                  Visit visit) {
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t inner = 0; inner < split.inner; ++inner) {
      std::vector<Value> row(static_cast<std::size_t>(split.size));
      for (std::int64_t i = 0; i < split.size; ++i) {
        row[static_cast<std::size_t>(i)] =
            values[static_cast<std::size_t>((outer * split.size + i) * split.inner + inner)];
      }
      visit(outer, inner, order_of(row, descending));
    }
  }
}

template <class Visit>
void for_each_order(const Operand& self, const Split& split, bool descending, Visit visit) {
  if (is_float(self.view.type)) {
    for_each_row(read(self), split, descending, visit);
  } else {
    for_each_row(read_integers(self), split, descending, visit);
  }
}

/// Values and indices of a copy of the first tensor.
std::uint64_t workspace(const Call& call) {
  return static_cast<std::uint64_t>(call.view(0).elements()) * (bits_of(call.view(0).type) / 8 + 8);
}
}  // namespace sorting

namespace argsort {
enum { kSelf, kDimension, kDescending, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_INT64}));
  return need_shape(call, kOut, call.view(kSelf).shape);
}

Status run(Kernel& kernel) {
  const Operand& self = kernel.operand(kSelf);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kSelf, kernel.call.integer(kDimension), &axis));
  const Split split = split_at(self.view.shape, axis);
  std::vector<std::int64_t> result(static_cast<std::size_t>(self.view.elements()));
  sorting::for_each_order(
      self, split, kernel.call.integer(kDescending) != 0,
      [&](std::int64_t outer, std::int64_t inner, const std::vector<std::int64_t>& order) {
        for (std::int64_t i = 0; i < split.size; ++i) {
          result[static_cast<std::size_t>((outer * split.size + i) * split.inner + inner)] =
              order[static_cast<std::size_t>(i)];
        }
      });
  write_integers(kernel.operand(kOut), result);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Argsort",
                 .roles = "inno",
                 .check = check,
                 .run = run,
                 .workspace = sorting::workspace};
}  // namespace argsort

namespace topk {
enum { kSelf, kCount, kDimension, kLargest, kSorted, kValues, kIndices };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kValues));
  ASCEND_TWIN_TRY(need_type(call, kIndices, {ACL_INT64}));
  Shape shape = call.view(kSelf).shape;
  const std::int64_t size = shape.empty() ? 1 : shape[axis];
  if (call.integer(kCount) < 0 || call.integer(kCount) > size)
    return invalid_argument(call, kSelf, "without " + std::to_string(call.integer(kCount)));
  if (!shape.empty()) shape[axis] = call.integer(kCount);
  ASCEND_TWIN_TRY(need_shape(call, kValues, shape));
  return need_shape(call, kIndices, shape);
}

/// Without sorting, results come in the order of the indices.
Status run(Kernel& kernel) {
  Operand self = kernel.operand(kSelf);
  self.view = at_least_one_dimension(self.view);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kSelf, kernel.call.integer(kDimension), &axis));
  const Split split = split_at(self.view.shape, axis);
  const std::int64_t count =
      kernel.operand(kValues).view.rank() == 0 ? 1 : kernel.operand(kValues).view.shape[axis];
  const auto results = static_cast<std::size_t>(kernel.operand(kValues).view.elements());
  std::vector<std::int64_t> indices(results);
  std::vector<std::int64_t> sources(results);
  sorting::for_each_order(
      self, split, kernel.call.integer(kLargest) != 0,
      [&](std::int64_t outer, std::int64_t inner, std::vector<std::int64_t> order) {
        order.resize(static_cast<std::size_t>(count));
        if (kernel.call.integer(kSorted) == 0) std::sort(order.begin(), order.end());
        for (std::int64_t i = 0; i < count; ++i) {
          const auto target = static_cast<std::size_t>((outer * count + i) * split.inner + inner);
          const std::int64_t index = order[static_cast<std::size_t>(i)];
          indices[target] = index;
          sources[target] = (outer * split.size + index) * split.inner + inner;
        }
      });
  pick_elements(self, sources, kernel.operand(kValues));
  write_integers(kernel.operand(kIndices), indices);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Topk",
                 .roles = "innnnoo",
                 .check = check,
                 .run = run,
                 .workspace = sorting::workspace};
}  // namespace topk

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Argsort, ascend_twin::argsort::kOp, (self, dim, descending, out), const aclTensor* self,
          int64_t dim, bool descending, aclTensor* out)
ASCEND_OP(Topk, ascend_twin::topk::kOp, (self, k, dim, largest, sorted, valuesOut, indicesOut),
          const aclTensor* self, int64_t k, int64_t dim, bool largest, bool sorted,
          aclTensor* valuesOut, aclTensor* indicesOut)
