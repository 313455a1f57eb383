// x · ((weight + offset) · scale) + bias, with weights of 8 or 4 bits (facts 5.1, I).
#include "ascend/include/acl/aclnn_products.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"
#include "ascend/ops/products/sums.h"
#include "ascend/profiles.h"

namespace ascend_twin {
namespace {

namespace weight_quant {
enum { kX, kWeight, kScale, kOffset, kQuantScale, kQuantOffset, kBias, kGroupSize, kY };

constexpr std::int64_t kMostSize = 65535;
constexpr std::int64_t kPacked = 8;  // numbers of 4 bits in an INT32, the lowest nibble first

/// The product in numbers. `group` is 0 without groups.
struct Shapes {
  std::int64_t m = 1, n = 1, k = 1, group = 0;
  bool by_columns = false;  ///< NZ of a 310P: weight (n, k), scale (n, groups)
  std::int64_t groups() const { return group == 0 ? 1 : (k + group - 1) / group; }
};

Status invalid(const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, reason);
}

bool is_310p() {
  return profile()->chip == k310p;
}

bool is_packed(const Call& call) {
  return call.view(kWeight).type == ACL_INT32;
}

Status check_weight(const Call& call) {
  const View& weight = call.view(kWeight);
  ASCEND_TWIN_TRY(need_rank(call, kWeight, 2, 2));
  ASCEND_TWIN_TRY(is_310p() ? need_type(call, kWeight, {ACL_INT8})
                            : need_type(call, kWeight, {ACL_INT8, ACL_INT4, ACL_INT32}));
  ASCEND_TWIN_TRY(need_matrix_order(call, kWeight));
  if (weight.type == ACL_INT4 && weight.shape[weight.is_transposed() ? 0 : 1] % 2 != 0)
    return invalid(call.describe(kWeight) + ", of odd rows in memory");
  if (!weight.is_nz()) return ACL_SUCCESS;
  ASCEND_TWIN_TRY(need_nz(call, kWeight));
  if (is_310p())
    return weight.is_contiguous() ? ACL_SUCCESS : invalid(call.describe(kWeight) + " in NZ");
  if (weight.type != ACL_INT8 || call.integer(kGroupSize) != 0)
    return invalid(call.describe(kWeight) + " in NZ, which only INT8 without groups has");
  return ACL_SUCCESS;
}

Status shapes_of(const Call& call, Shapes* shapes) {
  const View& weight = call.view(kWeight);
  shapes->by_columns = is_310p() && weight.is_nz();
  shapes->m = call.view(kX).shape[0];
  shapes->k = call.view(kX).shape[1];
  Shape size = weight.shape;
  if (is_packed(call)) size[weight.is_transposed() ? 0 : 1] *= kPacked;
  if (shapes->by_columns) std::swap(size[0], size[1]);
  shapes->n = size[1];
  shapes->group = call.integer(kGroupSize);
  if (size[0] != shapes->k)
    return invalid(call.describe(kWeight) + ", not a factor of " + text_of(call.view(kX).shape));
  if (shapes->k < 1 || shapes->k > kMostSize || shapes->n < 1 || shapes->n > kMostSize)
    return invalid(call.describe(kWeight) + ", sizes not in 1 to 65535");
  const std::int64_t most = call.view(kX).is_transposed() ? kMostSize : INT32_MAX;
  if (shapes->m < 1 || shapes->m > most)
    return invalid(call.describe(kX) + ", rows not in 1 to " + std::to_string(most));
  const std::int64_t group = shapes->group;
  if (group != 0 && (group % 32 != 0 || group < 32 || group > shapes->k - 1))
    return invalid("a group size of " + std::to_string(group) + " for " +
                   std::to_string(shapes->k) + " numbers");
  return ACL_SUCCESS;
}

/// One for all, one for each column, or one for each group of a column.
Status check_scale(const Call& call, const Shapes& shapes) {
  const View& scale = call.view(kScale);
  ASCEND_TWIN_TRY(need_same_type(call, kX, kScale));
  ASCEND_TWIN_TRY(need_nd(call, kScale));
  const std::int64_t n = shapes.n;
  if (shapes.group != 0) {
    ASCEND_TWIN_TRY(need_shape(
        call, kScale, shapes.by_columns ? Shape{n, shapes.groups()} : Shape{shapes.groups(), n}));
    if (scale.is_transposed() == call.view(kWeight).is_transposed() && !shapes.by_columns)
      return need_matrix_order(call, kScale);
    if (shapes.by_columns && scale.is_contiguous()) return ACL_SUCCESS;
    return invalid(call.describe(kScale) + ", not transposed as the weight is");
  }
  const Shape row = is_310p() ? Shape{n, 1} : Shape{1, n};
  if (scale.shape != Shape{1} && scale.shape != Shape{1, 1} && scale.shape != Shape{n} &&
      scale.shape != row)
    return invalid(call.describe(kScale) + ", not of " + std::to_string(n) + " columns");
  return scale.is_contiguous() || !is_310p()
             ? ACL_SUCCESS
             : invalid(call.describe(kScale) + ", which is not contiguous");
}

Status check_rest(const Call& call, const Shapes& shapes) {
  if (call.has(kOffset)) {
    ASCEND_TWIN_TRY(need_same_type(call, kScale, kOffset));
    ASCEND_TWIN_TRY(need_shape(call, kOffset, call.view(kScale).shape));
    if (call.view(kOffset).is_transposed() != call.view(kScale).is_transposed())
      return invalid(call.describe(kOffset) + ", not transposed as the scale is");
  }
  if (call.has(kBias)) {
    ASCEND_TWIN_TRY(
        need_type(call, kBias, {call.view(kX).type == ACL_BF16 ? ACL_FLOAT : ACL_FLOAT16}));
    if (call.view(kBias).shape != Shape{shapes.n} && call.view(kBias).shape != Shape{1, shapes.n})
      return invalid(call.describe(kBias) + ", not of " + std::to_string(shapes.n) + " columns");
  }
  if (call.has(kQuantScale) || call.has(kQuantOffset))
    return invalid("a result in INT8, which the twin does not have");
  ASCEND_TWIN_TRY(need_same_type(call, kX, kY));
  ASCEND_TWIN_TRY(need_nd(call, kY));
  return need_shape(call, kY, {shapes.m, shapes.n});
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kX, 2, 2));
  ASCEND_TWIN_TRY(need_nd(call, kX));
  ASCEND_TWIN_TRY(need_matrix_order(call, kX));
  ASCEND_TWIN_TRY(check_weight(call));
  Shapes shapes;
  ASCEND_TWIN_TRY(shapes_of(call, &shapes));
  ASCEND_TWIN_TRY(check_scale(call, shapes));
  return check_rest(call, shapes);
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  shapes.m = call.view(kX).shape[0];
  shapes.n = call.view(kY).shape[1];
  return product_workspace(shapes);
}

/// Eight numbers of each word, along the dimension that is dense in memory.
std::vector<std::int64_t> unpacked(const Operand& operand, const Shapes& shapes) {
  const std::vector<std::int64_t> words = read_integers(operand);
  const bool by_rows = operand.view.is_transposed();  // (k / 8, n)
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(shapes.k * shapes.n));
  for (std::int64_t i = 0; i < shapes.k; ++i) {
    for (std::int64_t j = 0; j < shapes.n; ++j) {
      const std::int64_t word =
          by_rows ? i / kPacked * shapes.n + j : i * (shapes.n / kPacked) + j / kPacked;
      const auto bits = static_cast<std::uint64_t>(words[static_cast<std::size_t>(word)]);
      const std::uint64_t nibble = bits >> (by_rows ? i % kPacked : j % kPacked) * 4 & 15U;
      numbers.push_back(static_cast<std::int64_t>(nibble ^ 8U) - 8);
    }
  }
  return numbers;
}

/// A scale or an offset, by element of the weight.
class PerGroup {
 public:
  PerGroup(const Operand& operand, const Shapes& shapes)
      : values_(read(operand)), shapes_(shapes) {}
  double at(std::int64_t i, std::int64_t j) const {
    if (values_.size() == 1) return values_[0];
    if (shapes_.group == 0) return values_[static_cast<std::size_t>(j)];
    const std::int64_t group = i / shapes_.group;
    return values_[static_cast<std::size_t>(shapes_.by_columns ? j * shapes_.groups() + group
                                                               : group * shapes_.n + j)];
  }

 private:
  std::vector<double> values_;
  const Shapes& shapes_;
};

/// [n][k] in the type of x: the unit multiplies no other.
std::vector<float> weights_of(const Kernel& kernel, const Shapes& shapes) {
  const std::vector<std::int64_t> numbers = is_packed(kernel.call)
                                                ? unpacked(kernel.operand(kWeight), shapes)
                                                : read_integers(kernel.operand(kWeight));
  const PerGroup scales(kernel.operand(kScale), shapes);
  const PerGroup offsets(kernel.operand(kernel.has(kOffset) ? kOffset : kScale), shapes);
  const aclDataType type = kernel.call.view(kX).type;
  const bool saturates = kernel.operand(kX).saturates;
  std::vector<float> weights;
  weights.reserve(numbers.size());
  for (std::int64_t j = 0; j < shapes.n; ++j) {
    for (std::int64_t i = 0; i < shapes.k; ++i) {
      const std::int64_t place = shapes.by_columns ? j * shapes.k + i : i * shapes.n + j;
      const auto number = static_cast<double>(numbers[static_cast<std::size_t>(place)]);
      const double shifted = kernel.has(kOffset) ? number + offsets.at(i, j) : number;
      weights.push_back(static_cast<float>(rounded_to(type, shifted * scales.at(i, j), saturates)));
    }
  }
  return weights;
}

Status run(Kernel& kernel) {
  Shapes shapes;
  ASCEND_TWIN_TRY(shapes_of(kernel.call, &shapes));
  const std::vector<float> x = read_floats(kernel.operand(kX));
  const std::vector<float> weights = weights_of(kernel, shapes);
  std::vector<float> result(static_cast<std::size_t>(shapes.m * shapes.n));
  multiply(x.data(), weights.data(), shapes.m, shapes.n, shapes.k, result.data());
  if (kernel.has(kBias)) {
    const std::vector<float> bias = read_floats(kernel.operand(kBias));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += bias[i % bias.size()];
  }
  write_floats(kernel.operand(kY), result);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "WeightQuantBatchMatmulV2",
                 .roles = "iiii?i?i?i?no",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace weight_quant

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(WeightQuantBatchMatmulV2, ascend_twin::weight_quant::kOp,
          (x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias,
           antiquantGroupSize, y),
          const aclTensor* x, const aclTensor* weight, const aclTensor* antiquantScale,
          const aclTensor* antiquantOffset, const aclTensor* quantScale,
          const aclTensor* quantOffset, const aclTensor* bias, int antiquantGroupSize,
          const aclTensor* y)
