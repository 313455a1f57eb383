// x / sqrt(mean of squares + epsilon) * gamma, with a residual added before or not.
#include <algorithm>
#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"
#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

namespace rms {

/// The operands of both operators: `x` in rows as long as `gamma`. `rstd` has the other dimensions
/// of `x`, with or without ones behind them.
Status check_norm(const Call& call, std::size_t x, std::size_t gamma, std::size_t y,
                  std::size_t rstd) {
  ASCEND_TWIN_TRY(check_tensors(call));
  const Shape& shape = call.view(x).shape;
  const Shape& scales = call.view(gamma).shape;
  const auto kept = static_cast<std::ptrdiff_t>(shape.size() - scales.size());
  if (scales.empty() || kept < 0 || !std::equal(scales.begin(), scales.end(), shape.begin() + kept))
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(gamma) + ", not the last dimensions of " + text_of(shape));
  // 910B: F16 and BF16 by F32, too.
  const bool is_mixed = profile()->chip == k910b && call.view(gamma).type == ACL_FLOAT;
  if (!is_mixed) ASCEND_TWIN_TRY(need_same_type(call, x, gamma));
  ASCEND_TWIN_TRY(need_shape(call, y, shape));
  ASCEND_TWIN_TRY(need_same_type(call, x, y));
  ASCEND_TWIN_TRY(need_type(call, rstd, {ACL_FLOAT}));
  Shape rows(shape.begin(), shape.begin() + kept);
  if (call.view(rstd).shape != rows) {
    rows.resize(shape.size(), 1);
    ASCEND_TWIN_TRY(need_shape(call, rstd, rows));
  }
  const auto row_bytes = bytes_of(call.view(x).type, static_cast<std::uint64_t>(shape.back()));
  if (profile()->chip == k310p && row_bytes < 32) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(x) + ", rows of " + std::to_string(row_bytes) + " bytes, below 32");
  }
  return ACL_SUCCESS;
}

/// A 310P asks for finite numbers (facts I); the real one computes something.
Status check_finite(const Kernel& kernel, const std::vector<double>& values) {
  if (!is_strict() || profile()->chip != k310p) return ACL_SUCCESS;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      return object_late(ACL_ERROR_RT_AICORE_EXCEPTION,
                         kernel.call.describe(0) + ", with an infinity or NaN on a 310P");
    }
  }
  return ACL_SUCCESS;
}

void normalise(std::vector<double>& values, const std::vector<double>& gammas, double epsilon,
               std::vector<double>& rstds) {
  for_each_row(
      values, static_cast<std::int64_t>(gammas.size()), [&](std::size_t row, std::span<double> of) {
        double squares = 0;
        for (const double value : of) squares += value * value;
        const double rstd = 1 / std::sqrt(squares / static_cast<double>(of.size()) + epsilon);
        rstds[row] = rstd;
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = of[i] * rstd * gammas[i];
      });
}

std::uint64_t workspace(const Call& /*call*/) {
  return static_cast<std::uint64_t>(unknown("rms norm workspace"));
}

namespace plain {
enum { kX, kGamma, kEpsilon, kY, kRstd };

Status check(Call& call) {
  return check_norm(call, kX, kGamma, kY, kRstd);
}

Status run(Kernel& kernel) {
  std::vector<double> values = read(kernel.operand(kX));
  ASCEND_TWIN_TRY(check_finite(kernel, values));
  std::vector<double> rstds(static_cast<std::size_t>(kernel.call.view(kRstd).elements()));
  normalise(values, read(kernel.operand(kGamma)), kernel.call.real(kEpsilon), rstds);
  write(kernel.operand(kY), values);
  write(kernel.operand(kRstd), rstds);
  return ACL_SUCCESS;
}

constexpr Op kOp{
    .name = "RmsNorm", .roles = "iinoo", .check = check, .run = run, .workspace = workspace};
}  // namespace plain

namespace residual {
enum { kX1, kX2, kGamma, kEpsilon, kY, kRstd, kSum };

Status check(Call& call) {
  for (const std::size_t position : {kX2, kSum}) {
    ASCEND_TWIN_TRY(need_shape(call, position, call.view(kX1).shape));
    ASCEND_TWIN_TRY(need_same_type(call, kX1, position));
  }
  return check_norm(call, kX1, kGamma, kY, kRstd);
}

/// The sum is rounded to its type before it is normalised.
Status run(Kernel& kernel) {
  std::vector<double> values = read(kernel.operand(kX1));
  const std::vector<double> others = read(kernel.operand(kX2));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += others[i];
  ASCEND_TWIN_TRY(check_finite(kernel, values));
  const Operand& sum = kernel.operand(kSum);
  for (double& value : values) {
    value = rounded_to(sum.view.type, value, sum.saturates);
  }
  const std::vector<double> gammas = read(kernel.operand(kGamma));
  write(sum, values);
  std::vector<double> rstds(static_cast<std::size_t>(kernel.call.view(kRstd).elements()));
  normalise(values, gammas, kernel.call.real(kEpsilon), rstds);
  write(kernel.operand(kY), values);
  write(kernel.operand(kRstd), rstds);
  return ACL_SUCCESS;
}

constexpr Op kOp{
    .name = "AddRmsNorm", .roles = "iiinooo", .check = check, .run = run, .workspace = workspace};
}  // namespace residual

}  // namespace rms

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(RmsNorm, ascend_twin::rms::plain::kOp, (x, gamma, epsilon, yOut, rstdOut),
          const aclTensor* x, const aclTensor* gamma, double epsilon, const aclTensor* yOut,
          const aclTensor* rstdOut)
ASCEND_OP(AddRmsNorm, ascend_twin::rms::residual::kOp,
          (x1, x2, gamma, epsilon, yOut, rstdOut, xOut), const aclTensor* x1, const aclTensor* x2,
          const aclTensor* gamma, double epsilon, const aclTensor* yOut, const aclTensor* rstdOut,
          const aclTensor* xOut)
