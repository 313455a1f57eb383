// Normalisation to mean 0 and variance 1: of a suffix of the dimensions, or of groups of channels.
#include <algorithm>
#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/reductions/axes.h"

namespace ascend_twin {
namespace {

struct Moments {
  double mean, rstd;
};
/// The variance is that of the population, from a second pass.
Moments moments_of(std::span<const double> row, double epsilon) {
  const auto count = static_cast<double>(row.size());
  const double mean = sum_of(row) / count;
  double squares = 0;
  for (const double value : row) squares += (value - mean) * (value - mean);
  return {mean, 1 / std::sqrt(squares / count + epsilon)};
}

namespace layer_norm {
enum { kInput, kShape, kWeight, kBias, kEpsilon, kOut, kMean, kRstd };

/// The shape of the means: the normalised dimensions are 1.
Status means_of(const Call& call, Axes* axes, Shape* means) {
  const Shape& shape = call.view(kInput).shape;
  const Shape& normal = call.integers(kShape);
  const std::size_t kept = shape.size() - normal.size();
  if (normal.empty() || normal.size() > shape.size() ||
      !std::equal(normal.begin(), normal.end(), shape.begin() + static_cast<std::ptrdiff_t>(kept)))
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(kInput) + ", which does not end in " + text_of(normal));
  *axes = last_axes(shape.size(), normal.size());
  *means = reduced_shape(shape, *axes, true);
  return ACL_SUCCESS;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  Axes axes;
  Shape means;
  ASCEND_TWIN_TRY(means_of(call, &axes, &means));
  for (const std::size_t position : {kWeight, kBias}) {
    if (!call.has(position)) continue;
    ASCEND_TWIN_TRY(need_shape(call, position, call.integers(kShape)));
    ASCEND_TWIN_TRY(need_type(call, position, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
  }
  ASCEND_TWIN_TRY(need_shape(call, kOut, call.view(kInput).shape));
  ASCEND_TWIN_TRY(need_castable(call, ACL_FLOAT, kOut));
  for (const std::size_t position : {kMean, kRstd}) {
    if (!call.has(position)) continue;
    ASCEND_TWIN_TRY(need_shape(call, position, means));
    ASCEND_TWIN_TRY(need_castable(call, ACL_FLOAT, position));
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Axes axes;
  Shape shape;
  ASCEND_TWIN_TRY(means_of(call, &axes, &shape));
  const auto rows = static_cast<std::size_t>(elements_of(shape));
  std::vector<double> values = read(kernel.operand(kInput));
  std::vector<double> weights;
  std::vector<double> biases;
  if (call.has(kWeight)) weights = read(kernel.operand(kWeight));
  if (call.has(kBias)) biases = read(kernel.operand(kBias));
  std::vector<double> means(rows);
  std::vector<double> rstds(rows);
  for_each_row(values, length_of(call.view(kInput).shape, axes),
               [&](std::size_t row, std::span<double> of) {
                 const Moments moments = moments_of(of, call.real(kEpsilon));
                 means[row] = moments.mean;
                 rstds[row] = moments.rstd;
                 for (std::size_t i = 0; i < of.size(); ++i) {
                   of[i] = (of[i] - moments.mean) * moments.rstd;
                   if (!weights.empty()) of[i] *= weights[i];
                   if (!biases.empty()) of[i] += biases[i];
                 }
               });
  write(kernel.operand(kOut), values);
  if (call.has(kMean)) write(kernel.operand(kMean), means);
  if (call.has(kRstd)) write(kernel.operand(kRstd), rstds);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  Axes axes;
  Shape means;
  if (means_of(call, &axes, &means) != ACL_SUCCESS) return 0;
  return reduction_workspace(elements_of(means));
}

constexpr Op kOp{.name = "LayerNorm",
                 .roles = "iai?i?noo?o?",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace layer_norm

namespace group_norm {
enum { kSelf, kGamma, kBeta, kN, kC, kHxW, kGroup, kEpsilon, kOut, kMean, kRstd };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  const std::int64_t batches = call.integer(kN);
  const std::int64_t channels = call.integer(kC);
  const std::int64_t groups = call.integer(kGroup);
  if (batches < 0 || channels <= 0 || call.integer(kHxW) < 0 || groups <= 0 ||
      channels % groups != 0) {
    return refuse(ACLNN_ERR_PARAM_INVALID, "aclnnGroupNorm: " + std::to_string(channels) +
                                               " channels in " + std::to_string(groups) +
                                               " groups, of " + std::to_string(batches) +
                                               " batches of " + std::to_string(call.integer(kHxW)));
  }
  const std::int64_t elements = call.view(kSelf).elements();
  const std::int64_t of_batch = batches == 0 ? 0 : elements / batches;
  if (of_batch * batches != elements || of_batch % channels != 0 ||
      (batches != 0 && of_batch / channels != call.integer(kHxW))) {
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kSelf) + ", not of N * C * HxW elements");
  }
  for (const std::size_t position : {kGamma, kBeta}) {
    if (!call.has(position)) continue;
    ASCEND_TWIN_TRY(need_shape(call, position, {channels}));
    ASCEND_TWIN_TRY(need_type(call, position, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
  }
  ASCEND_TWIN_TRY(need_shape(call, kOut, call.view(kSelf).shape));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  for (const std::size_t position : {kMean, kRstd}) {
    ASCEND_TWIN_TRY(need_shape(call, position, {batches, groups}));
    ASCEND_TWIN_TRY(need_castable(call, ACL_FLOAT, position));
  }
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const std::int64_t groups = call.integer(kGroup);
  const std::int64_t channels = call.integer(kC) / groups;  // of a group
  const std::int64_t size = call.integer(kHxW);
  std::vector<double> values = read(kernel.operand(kSelf));
  std::vector<double> gammas;
  std::vector<double> betas;
  if (call.has(kGamma)) gammas = read(kernel.operand(kGamma));
  if (call.has(kBeta)) betas = read(kernel.operand(kBeta));
  std::vector<double> means(static_cast<std::size_t>(call.integer(kN) * groups));
  std::vector<double> rstds(means.size());
  for_each_row(values, channels * size, [&](std::size_t row, std::span<double> of) {
    const Moments moments = moments_of(of, call.real(kEpsilon));
    means[row] = moments.mean;
    rstds[row] = moments.rstd;
    const auto first = static_cast<std::int64_t>(row) % groups * channels;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto channel = static_cast<std::size_t>(first + static_cast<std::int64_t>(i) / size);
      of[i] = (of[i] - moments.mean) * moments.rstd;
      if (!gammas.empty()) of[i] *= gammas[channel];
      if (!betas.empty()) of[i] += betas[channel];
    }
  });
  write(kernel.operand(kOut), values);
  write(kernel.operand(kMean), means);
  write(kernel.operand(kRstd), rstds);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& call) {
  return reduction_workspace(call.integer(kN) * call.integer(kGroup));
}

constexpr Op kOp{.name = "GroupNorm",
                 .roles = "ii?i?nnnnnooo",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace group_norm

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(LayerNorm, ascend_twin::layer_norm::kOp,
          (input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional,
           rstdOutOptional),
          const aclTensor* input, const aclIntArray* normalizedShape,
          const aclTensor* weightOptional, const aclTensor* biasOptional, double eps,
          aclTensor* out, aclTensor* meanOutOptional, aclTensor* rstdOutOptional)
ASCEND_OP(GroupNorm, ascend_twin::group_norm::kOp,
          (self, gamma, beta, N, C, HxW, group, eps, out, meanOut, rstdOut), const aclTensor* self,
          const aclTensor* gamma, const aclTensor* beta, int64_t N, int64_t C, int64_t HxW,
          int64_t group, double eps, aclTensor* out, aclTensor* meanOut, aclTensor* rstdOut)
