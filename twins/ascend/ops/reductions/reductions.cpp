// Sums, means, extremes and norms along dimensions.
#include <cmath>
#include <limits>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/numbers/functions.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"

namespace ascend_twin {
namespace {

namespace reductions {
using Whole = std::int64_t;
using Reals = std::span<const double>;
using Wholes = std::span<const Whole>;

/// Places of the arguments, and how a row becomes a number.
struct Reduction {
  std::size_t dims = 0, keep = 0, out = 0;
  std::size_t type = 0;       ///< of the argument `dtype`; 0: there is none
  std::size_t parameter = 0;  ///< of a scalar; 0: there is none
  bool needs_elements = false;
  double (*real)(Reals row, double parameter) = nullptr;
  Whole (*whole)(Wholes row) = nullptr;  ///< null: floats only
};

struct ReductionOp : Op {
  Reduction reduction{};
};

const Reduction& reduction_of(const Call& call) {
  return static_cast<const ReductionOp&>(call.op()).reduction;
}

aclDataType type_of(const Call& call) {
  const Reduction& reduction = reduction_of(call);
  return reduction.type == 0 ? call.view(0).type
                             : static_cast<aclDataType>(call.integer(reduction.type));
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  const Reduction& reduction = reduction_of(call);
  Axes axes;
  ASCEND_TWIN_TRY(axes_of(call, 0, call.integers(reduction.dims), &axes));
  const Shape& shape = call.view(0).shape;
  ASCEND_TWIN_TRY(need_shape(call, reduction.out,
                             reduced_shape(shape, axes, call.integer(reduction.keep) != 0)));
  const aclDataType type = type_of(call);
  if (call.view(reduction.out).type != type && reduction.parameter == 0) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(reduction.out) + ", not of the type " + name_of(type));
  }
  ASCEND_TWIN_TRY(need_castable(call, call.view(0).type, reduction.out));
  if (!is_float(type) && reduction.whole == nullptr) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(0) + ", as " + name_of(type) + " instead of a float");
  }
  if (reduction.needs_elements && length_of(shape, axes) == 0)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(0) + ", without elements to compare");
  return need_castable(call, type, reduction.out);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const Reduction& reduction = reduction_of(call);
  Axes axes;
  ASCEND_TWIN_TRY(axes_of(call, 0, call.integers(reduction.dims), &axes));
  const aclDataType type = type_of(call);
  const std::int64_t length = length_of(call.view(0).shape, axes);
  const Operand rows = rows_of(kernel.operand(0), axes);
  const Operand& out = kernel.operand(reduction.out);
  const auto count = static_cast<std::size_t>(out.view.elements());
  if (is_float(type)) {
    const double parameter = reduction.parameter == 0 ? 0 : call.real(reduction.parameter);
    std::vector<double> values = read_as(rows, rows.view.shape, type);
    std::vector<double> results(count, reduction.real({}, parameter));
    for_each_row(values, length,
                 [&](std::size_t row, Reals of) { results[row] = reduction.real(of, parameter); });
    write_cast(out, type, results);
    return ACL_SUCCESS;
  }
  std::vector<Whole> values = read_integers_as(rows, rows.view.shape, type);
  std::vector<Whole> results(count, 0);
  for_each_row(values, length,
               [&](std::size_t row, Wholes of) { results[row] = reduction.whole(of); });
  write_cast(out, type, results);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  return reduction_workspace(call.view(reduction_of(call).out).elements()) +
         cast_bytes(call, type_of(call), type_of(call));
}

constexpr ReductionOp reduction_op(const char* name, const char* roles,
                                   const Reduction& reduction) {
  ReductionOp op{};
  op.name = name;
  op.roles = roles;
  op.check = check;
  op.run = run;
  op.workspace = workspace;
  op.reduction = reduction;
  return op;
}

double sum(Reals row, double /*parameter*/) {
  return sum_of(row);
}
Whole whole_sum(Wholes row) {
  std::uint64_t result = 0;  // wraps around
  for (const Whole value : row) result += static_cast<std::uint64_t>(value);
  return static_cast<Whole>(result);
}
double mean(Reals row, double /*parameter*/) {
  return sum_of(row) / static_cast<double>(row.size());
}

/// The greatest, or with a sign of -1 the least; NaN wins.
template <int kSign, class Value>
Value extreme(std::span<const Value> row) {
  Value best = row.empty() ? Value{0} : row.front();
  for (const Value value : row) {
    const bool is_better = kSign > 0 ? value > best : value < best;
    if (is_better || value != value) best = value;  // NOLINT: NaN
  }
  return best;
}
template <int kSign>
double real_extreme(Reals row, double /*parameter*/) {
  for (const double value : row) {
    if (std::isnan(value)) return value;
  }
  return extreme<kSign, double>(row);
}

double norm(Reals row, double p) {
  double result = std::isinf(p) && p < 0 ? p * -1 : 0;
  for (const double value : row) {
    const double size = std::fabs(value);
    if (std::isnan(size)) return size;
    if (std::isinf(p)) {
      if ((p > 0) == (size > result)) result = size;
    } else if (p == 0) {
      result += size == 0 ? 0 : 1;
    } else {
      result += p == 1 ? size : pow_of(size, p);
    }
  }
  return std::isinf(p) || p == 0 || p == 1 ? result : pow_of(result, 1 / p);
}

constexpr ReductionOp kReduceSum =
    reduction_op("ReduceSum", "ianno",
                 {.dims = 1, .keep = 2, .out = 4, .type = 3, .real = sum, .whole = whole_sum});
constexpr ReductionOp kMean =
    reduction_op("Mean", "ianno", {.dims = 1, .keep = 2, .out = 4, .type = 3, .real = mean});
constexpr ReductionOp kAmax = reduction_op("Amax", "iano",
                                           {.dims = 1,
                                            .keep = 2,
                                            .out = 3,
                                            .needs_elements = true,
                                            .real = real_extreme<1>,
                                            .whole = extreme<1, Whole>});
constexpr ReductionOp kAmin = reduction_op("Amin", "iano",
                                           {.dims = 1,
                                            .keep = 2,
                                            .out = 3,
                                            .needs_elements = true,
                                            .real = real_extreme<-1>,
                                            .whole = extreme<-1, Whole>});
constexpr ReductionOp kNorm =
    reduction_op("Norm", "isano", {.dims = 2, .keep = 3, .out = 4, .parameter = 1, .real = norm});

}  // namespace reductions

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(ReduceSum, ascend_twin::reductions::kReduceSum, (self, dims, keepDims, dtype, out),
          const aclTensor* self, const aclIntArray* dims, bool keepDims, aclDataType dtype,
          aclTensor* out)
ASCEND_OP(Mean, ascend_twin::reductions::kMean, (self, dim, keepDim, dtype, out),
          const aclTensor* self, const aclIntArray* dim, bool keepDim, aclDataType dtype,
          aclTensor* out)
ASCEND_OP(Amax, ascend_twin::reductions::kAmax, (self, dim, keepDim, out), const aclTensor* self,
          const aclIntArray* dim, bool keepDim, aclTensor* out)
ASCEND_OP(Amin, ascend_twin::reductions::kAmin, (self, dim, keepDim, out), const aclTensor* self,
          const aclIntArray* dim, bool keepDim, aclTensor* out)
ASCEND_OP(Norm, ascend_twin::reductions::kNorm, (self, pScalar, dim, keepDim, out),
          const aclTensor* self, const aclScalar* pScalar, const aclIntArray* dim, bool keepDim,
          aclTensor* out)
