// Products of groups of rows, each with its own weight (mixtures of experts).
#include <algorithm>

#include "ascend/include/acl/aclnn_products.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"
#include "ascend/ops/products/sums.h"
#include "ascend/profiles.h"

namespace ascend_twin {
namespace {

namespace grouped {
enum {
  kX,
  kWeight,
  kBias,
  kScale,
  kOffset,
  kAntiquantScale,
  kAntiquantOffset,
  kGroupList,
  kSplitItem,
  kGroupType,
  kY
};
constexpr std::size_t kMostMembers = 128;
constexpr std::int64_t kMostGroups = 1024;
constexpr std::int64_t kByRows = 0;  // group types; -1: a member each

Status invalid(const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, "aclnnGroupedMatmulV3: " + reason);
}

const std::vector<View>& members(const Call& call, std::size_t position) {
  return call.at(position).views;
}

/// A group's weight [k][n]: a member of the list, or one of a tensor [groups][k][n].
View weight_of(const Call& call, std::size_t group) {
  const std::vector<View>& weights = members(call, kWeight);
  if (weights[0].rank() != 3) return weights[group];
  View view = weights[0];
  view.offset += static_cast<std::int64_t>(group) * view.strides[0];
  view.shape.erase(view.shape.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

std::size_t groups_of(const Call& call) {
  const std::vector<View>& weights = members(call, kWeight);
  return weights[0].rank() == 3 ? static_cast<std::size_t>(weights[0].shape[0]) : weights.size();
}

bool is_quantised(const Call& call) {
  return members(call, kWeight)[0].type == ACL_INT8;
}

Status check_types(const Call& call) {
  const aclDataType type = members(call, kX)[0].type;
  const aclDataType weight = members(call, kWeight)[0].type;
  if (profile()->chip == k310p && type != ACL_FLOAT16) return invalid("x not in F16");
  if (type == ACL_INT8 || call.has(kScale) || call.has(kOffset))
    return invalid("factors in INT8, which the twin does not have");
  if (weight != type && (weight != ACL_INT8 || type == ACL_FLOAT || profile()->chip == k310p))
    return invalid(std::string("a weight in ") + name_of(weight) + " for x in " + name_of(type));
  if (is_quantised(call) != call.has(kAntiquantScale))
    return invalid("scales without a weight in INT8, or the reverse");
  if (call.has(kAntiquantOffset) && !call.has(kAntiquantScale)) return invalid("only offsets");
  const aclDataType bias = type == ACL_BF16 ? ACL_FLOAT : type;
  for (const auto& [position, expected] : {std::pair{kX, type},
                                           {kWeight, weight},
                                           {kBias, bias},
                                           {kAntiquantScale, type},
                                           {kAntiquantOffset, type},
                                           {kY, type}}) {
    for (const View& view : members(call, position)) {
      if (view.type != expected)
        return invalid(call.describe(position) + ", not " + name_of(expected));
    }
  }
  return ACL_SUCCESS;
}

/// Bias, scale and offset: [n] for each weight of a list, [groups][n] beside one tensor.
Status check_vectors(const Call& call) {
  for (const std::size_t position : {kBias, kAntiquantScale, kAntiquantOffset}) {
    if (!call.has(position)) continue;
    const std::vector<View>& vectors = members(call, position);
    const std::vector<View>& weights = members(call, kWeight);
    if (vectors.size() != weights.size())
      return invalid(call.describe(position) + ", not one for each weight");
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      Shape expected{weights[i].shape.back()};
      if (weights[i].rank() == 3) expected.insert(expected.begin(), weights[i].shape[0]);
      if (vectors[i].shape != expected)
        return invalid(call.describe(position) + ", not of the shape " + text_of(expected));
    }
  }
  return ACL_SUCCESS;
}

Status check_factor(const View& x, const View& weight, const View& y) {
  if (x.rank() < 2 || x.rank() > 6 || weight.rank() != 2 || x.is_nz() || weight.is_nz() ||
      y.is_nz() || !x.is_contiguous() || !(weight.is_contiguous() || weight.is_transposed()))
    return invalid("no factors: " + text_of(x.shape) + " and " + text_of(weight.shape));
  Shape result = x.shape;
  result.back() = weight.shape[1];
  if (x.shape.back() != weight.shape[0] || y.shape != result)
    return invalid(text_of(x.shape) + " times " + text_of(weight.shape) + " is not " +
                   text_of(y.shape));
  if (x.shape.back() > 65535 || weight.shape[1] > 65535 || weight.shape[0] > 65535)
    return invalid("a size above 65535: " + text_of(weight.shape));
  return ACL_SUCCESS;
}

Status check_members(const Call& call) {
  const std::vector<View>& xs = members(call, kX);
  const std::vector<View>& ys = members(call, kY);
  if (call.has(kGroupList)) return invalid("a list of groups where each x is a group");
  if (call.integer(kSplitItem) != 0 && call.integer(kSplitItem) != 1)
    return invalid("splitItem " + std::to_string(call.integer(kSplitItem)));
  if (xs.size() != members(call, kWeight).size() || xs.size() != ys.size())
    return invalid("lists of different lengths");
  for (std::size_t i = 0; i < xs.size(); ++i)
    ASCEND_TWIN_TRY(check_factor(xs[i], members(call, kWeight)[i], ys[i]));
  return ACL_SUCCESS;
}

Status check_rows(const Call& call) {
  const std::vector<View>& weights = members(call, kWeight);
  if (!call.has(kGroupList)) return refuse(ACLNN_ERR_PARAM_NULLPTR, "no list of groups");
  if (call.integer(kSplitItem) != 2 && call.integer(kSplitItem) != 3)
    return invalid("splitItem " + std::to_string(call.integer(kSplitItem)));
  if (members(call, kX).size() != 1 || members(call, kY).size() != 1)
    return invalid("several x or y, which the twin does not have with groups of rows");
  if (members(call, kX)[0].rank() != 2) return invalid("x not a matrix");
  if (weights[0].rank() == 3 && weights.size() != 1) return invalid("several weights of groups");
  const auto groups = static_cast<std::int64_t>(groups_of(call));
  if (profile()->chip == k310p) {
    if (weights[0].rank() != 3) return invalid("a list of weights");
    if (weights[0].shape[2] % 16 != 0) return invalid("columns not a multiple of 16");
  }
  ASCEND_TWIN_TRY(need_type(call, kGroupList, {ACL_INT64}));
  ASCEND_TWIN_TRY(need_shape(call, kGroupList, {groups}));
  if (groups < 1 || groups > kMostGroups) return invalid(std::to_string(groups) + " groups");
  for (std::int64_t i = 0; i < groups; ++i) {
    ASCEND_TWIN_TRY(check_factor(members(call, kX)[0], weight_of(call, static_cast<std::size_t>(i)),
                                 members(call, kY)[0]));
  }
  return ACL_SUCCESS;
}

Status check(Call& call) {
  for (const std::size_t position : {kX, kWeight, kY}) {
    const std::size_t size = members(call, position).size();
    if (size == 0 || size > kMostMembers)
      return invalid("a list of " + std::to_string(size) + " members");
  }
  for (const View& weight : members(call, kWeight)) {
    if (weight.rank() < 2) return invalid(call.describe(kWeight) + ", no matrix");
  }
  ASCEND_TWIN_TRY(check_types(call));
  ASCEND_TWIN_TRY(check_vectors(call));
  if (call.integer(kGroupType) == kByRows) return check_rows(call);
  if (call.integer(kGroupType) == -1 && profile()->chip != k310p) return check_members(call);
  return invalid("groupType " + std::to_string(call.integer(kGroupType)));
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  for (const View& x : members(call, kX)) shapes.m = x.shape[0];
  shapes.n = members(call, kWeight)[0].shape.back();
  return product_workspace(shapes);
}

/// Numbers of one group out of a list or a tensor [groups][n]; one `otherwise` if there are none.
std::vector<double> vector_of(const Kernel& kernel, std::size_t position, std::size_t group,
                              double otherwise) {
  if (!kernel.has(position)) return {otherwise};
  const bool in_list = members(kernel.call, kWeight)[0].rank() == 2;
  Operand operand = kernel.operand(position, in_list ? group : 0);
  if (!in_list) {
    operand.view.offset += static_cast<std::int64_t>(group) * operand.view.strides[0];
    operand.view.shape.erase(operand.view.shape.begin());
    operand.view.strides.erase(operand.view.strides.begin());
  }
  return read(operand);
}

/// [n][k] in the type of x.
std::vector<float> weights_of(const Kernel& kernel, std::size_t group) {
  const bool in_list = members(kernel.call, kWeight)[0].rank() == 2;
  Operand operand = kernel.operand(kWeight, in_list ? group : 0);
  operand.view = weight_of(kernel.call, group);
  std::vector<float> weights = read_floats(operand);
  const std::int64_t n = operand.view.shape[1];
  if (is_quantised(kernel.call)) {
    const std::vector<double> scales = vector_of(kernel, kAntiquantScale, group, 1);
    const std::vector<double> offsets = vector_of(kernel, kAntiquantOffset, group, 0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t column = i % static_cast<std::size_t>(n);
      const double shifted = static_cast<double>(weights[i]) + offsets[column % offsets.size()];
      weights[i] = static_cast<float>(rounded_to(members(kernel.call, kX)[0].type,
                                                 shifted * scales[column % scales.size()],
                                                 operand.saturates));
    }
  }
  return transposed(weights, operand.view.shape[0], n);
}

/// Rows [begin, end) of x times the group's weight, into the same rows of y.
void multiply_rows(const Kernel& kernel, std::size_t member, std::size_t group, std::int64_t begin,
                   std::int64_t end) {
  Operand x = kernel.operand(kX, member);
  Operand y = kernel.operand(kY, member);
  for (Operand* const operand : {&x, &y}) {
    operand->view.offset += begin * operand->view.strides[0];
    operand->view.shape[0] = end - begin;
  }
  const std::int64_t k = x.view.shape.back();
  const std::int64_t n = y.view.shape.back();
  const std::vector<float> rows = read_floats(x);
  const std::vector<float> weights = weights_of(kernel, group);
  std::vector<float> result(static_cast<std::size_t>(y.view.elements()));
  multiply(rows.data(), weights.data(), y.view.elements() / std::max<std::int64_t>(n, 1), n, k,
           result.data());
  const std::vector<double> bias = vector_of(kernel, kBias, group, 0);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] += static_cast<float>(bias[i % static_cast<std::size_t>(n) % bias.size()]);
  write_floats(y, result);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  if (call.integer(kGroupType) != kByRows) {
    for (std::size_t i = 0; i < members(call, kX).size(); ++i)
      multiply_rows(kernel, i, i, 0, members(call, kX)[i].shape[0]);
    return ACL_SUCCESS;
  }
  // The list has the ends of the groups. Rows after the last end are left alone.
  const std::vector<std::int64_t> ends = read_integers(kernel.operand(kGroupList));
  std::int64_t begin = 0;
  for (std::size_t group = 0; group < ends.size(); ++group) {
    if (ends[group] < begin || ends[group] > members(call, kX)[0].shape[0]) {
      return refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "group " + std::to_string(group) + " ends at " +
                                                       std::to_string(ends[group]) + " of " +
                                                       text_of(members(call, kX)[0].shape));
    }
    multiply_rows(kernel, 0, group, begin, ends[group]);
    begin = ends[group];
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "GroupedMatmulV3",
                 .roles = "lll?l?l?l?l?i?nnO",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace grouped

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(GroupedMatmulV3, ascend_twin::grouped::kOp,
          (x, weight, bias, scale, offset, antiquantScale, antiquantOffset, groupList, splitItem,
           groupType, y),
          const aclTensorList* x, const aclTensorList* weight, const aclTensorList* bias,
          const aclTensorList* scale, const aclTensorList* offset,
          const aclTensorList* antiquantScale, const aclTensorList* antiquantOffset,
          const aclTensor* groupList, int64_t splitItem, int64_t groupType, const aclTensorList* y)
