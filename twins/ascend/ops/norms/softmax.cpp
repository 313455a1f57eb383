// Softmax along a dimension, its logarithm, and the loss that is made of it.
#include <algorithm>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"
#include "common/reals.h"

namespace ascend_twin {
namespace {

namespace softmax {
enum { kSelf, kDim, kOut };

/// Less the greatest, and the logarithm of the sum of their exponentials. A row that is all minus
/// infinity becomes NaN, which a chip that saturates writes as 0.
double shift_row(std::span<double> row) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& value : row) {
    value -= most;
    sum += twin::exp_of(value);
  }
  return twin::log_of(sum);
}

void exponentials(std::span<double> row) {
  shift_row(row);
  double sum = 0;
  for (double& value : row) {
    value = twin::exp_of(value);
    sum += value;
  }
  for (double& value : row) value /= sum;
}

void logarithms(std::span<double> row) {
  const double sum = shift_row(row);
  for (double& value : row) value -= sum;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(call, kSelf, call.integer(kDim), &axes));
  ASCEND_TWIN_TRY(need_shape(call, kOut, call.view(kSelf).shape));
  return need_castable(call, ACL_FLOAT, kOut);
}

template <void (*kNormalise)(std::span<double>)>
Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Axes axes;
  ASCEND_TWIN_TRY(axis_of(call, kSelf, call.integer(kDim), &axes));
  std::vector<double> values = read(rows_of(kernel.operand(kSelf), axes));
  for_each_row(values, length_of(call.view(kSelf).shape, axes),
               [](std::size_t, std::span<double> row) { kNormalise(row); });
  write(rows_of(kernel.operand(kOut), axes), values);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  const Shape& shape = call.view(kSelf).shape;
  Axes axes;
  if (axis_of(call, kSelf, call.integer(kDim), &axes) != ACL_SUCCESS) return 0;
  return reduction_workspace(elements_of(shape) / length_of(shape, axes));
}

constexpr Op kSoftmax{.name = "Softmax",
                      .roles = "ino",
                      .check = check,
                      .run = run<exponentials>,
                      .workspace = workspace};
constexpr Op kLogSoftmax{.name = "LogSoftmax",
                         .roles = "ino",
                         .check = check,
                         .run = run<logarithms>,
                         .workspace = workspace};

}  // namespace softmax

namespace cross_entropy {
enum { kFeatures, kLabels, kLoss, kBackprop };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  ASCEND_TWIN_TRY(need_rank(call, kFeatures, 2, 2));
  const Shape& shape = call.view(kFeatures).shape;
  for (const std::size_t position : {kLabels, kBackprop})
    ASCEND_TWIN_TRY(need_shape(call, position, shape));
  ASCEND_TWIN_TRY(need_shape(call, kLoss, {shape[0]}));
  for (const std::size_t position : {kLabels, kLoss, kBackprop})
    ASCEND_TWIN_TRY(need_same_type(call, kFeatures, position));
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  std::vector<double> values = read(kernel.operand(kFeatures));
  const std::vector<double> labels = read(kernel.operand(kLabels));
  std::vector<double> losses(static_cast<std::size_t>(kernel.call.view(kLoss).elements()));
  for_each_row(values, kernel.call.view(kFeatures).shape[1],
               [&](std::size_t row, std::span<double> of) {
                 softmax::logarithms(of);
                 const double* const label = labels.data() + row * of.size();
                 for (std::size_t i = 0; i < of.size(); ++i) {
                   losses[row] -= label[i] * of[i];
                   of[i] = twin::exp_of(of[i]) - label[i];
                 }
               });
  write(kernel.operand(kLoss), losses);
  write(kernel.operand(kBackprop), values);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  return reduction_workspace(call.view(kLoss).elements());
}

constexpr Op kOp{.name = "SoftmaxCrossEntropyWithLogits",
                 .roles = "iioo",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace cross_entropy

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Softmax, ascend_twin::softmax::kSoftmax, (self, dim, out), const aclTensor* self,
          int64_t dim, aclTensor* out)
ASCEND_OP(LogSoftmax, ascend_twin::softmax::kLogSoftmax, (self, dim, out), const aclTensor* self,
          int64_t dim, aclTensor* out)
ASCEND_OP(SoftmaxCrossEntropyWithLogits, ascend_twin::cross_entropy::kOp,
          (features, labels, loss, backprop), const aclTensor* features, aclTensor* labels,
          aclTensor* loss, aclTensor* backprop)
