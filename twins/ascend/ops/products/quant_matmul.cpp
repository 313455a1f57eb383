// (x1 · x2 + bias) · scale · pertoken + offset, with both factors in INT8.
#include <bit>

#include "ascend/include/acl/aclnn_products.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"
#include "ascend/profiles.h"
#include "common/reals.h"

namespace ascend_twin {
namespace {

namespace quant_matmul {
enum { kX1, kX2, kScale, kOffset, kPerToken, kBias, kTransposeX1, kTransposeX2, kOut };

constexpr std::int64_t kMostSize = 65535;

struct Shapes {
  std::int64_t m = 1, n = 1, k = 1;
};

Status invalid(const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, reason);
}

/// Scales as aclnnTransQuantParamV2 makes them: the bits of an F32 in the lower half.
bool has_packed_scale(const Call& call) {
  return call.view(kScale).type == ACL_UINT64 || call.view(kScale).type == ACL_INT64;
}

Status shapes_of(const Call& call, Shapes* shapes) {
  const Shape& a = call.view(kX1).shape;
  const Shape& b = call.view(kX2).shape;
  shapes->m = a[call.integer(kTransposeX1) != 0 ? 1 : 0];
  shapes->k = a[call.integer(kTransposeX1) != 0 ? 0 : 1];
  shapes->n = b[call.integer(kTransposeX2) != 0 ? 0 : 1];
  if (b[call.integer(kTransposeX2) != 0 ? 1 : 0] != shapes->k)
    return invalid(call.describe(kX2) + ", not a factor of " + text_of(a));
  if (a[1] > kMostSize || b[1] > kMostSize || shapes->m < 1 || shapes->n < 1 || shapes->k < 1)
    return invalid(call.describe(kX2) + ", sizes not in 1 to 65535");
  return ACL_SUCCESS;
}

/// The combinations of types that the documentation lists.
Status check_types(const Call& call) {
  const bool is_310p = profile()->chip == k310p;
  const aclDataType out = call.view(kOut).type;
  if (has_packed_scale(call)) {
    ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_FLOAT16, ACL_INT8}));
    if (call.has(kPerToken)) return invalid("factors of tokens beside a scale of 64 bits");
    if (call.has(kBias)) ASCEND_TWIN_TRY(need_type(call, kBias, {ACL_INT32}));
  } else if (is_310p) {
    ASCEND_TWIN_TRY(need_type(call, kScale, {ACL_FLOAT}));
    ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_FLOAT16}));
    if (!call.has(kPerToken)) return invalid(call.describe(kScale) + ", not of 64 bits");
    if (call.has(kBias)) ASCEND_TWIN_TRY(need_type(call, kBias, {ACL_INT32}));
  } else {
    ASCEND_TWIN_TRY(need_type(call, kScale, {ACL_FLOAT, ACL_BF16}));
    ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_FLOAT16, ACL_BF16, ACL_INT32}));
    if (out == ACL_FLOAT16 && (!call.has(kPerToken) || call.view(kScale).type != ACL_FLOAT))
      return invalid(call.describe(kOut) + " without factors of tokens");
    if (call.has(kBias)) {
      ASCEND_TWIN_TRY(out == ACL_INT32 ? need_type(call, kBias, {ACL_INT32})
                                       : need_type(call, kBias, {ACL_INT32, ACL_FLOAT, out}));
    }
  }
  if (call.has(kOffset) && out != ACL_INT8) return invalid("an offset for a result not in INT8");
  return ACL_SUCCESS;
}

/// One number, or `size` of them.
Status need_vector(const Call& call, std::size_t position, std::int64_t size, bool one) {
  if (!call.has(position)) return ACL_SUCCESS;
  const Shape& shape = call.view(position).shape;
  if (shape == Shape{size} || (one && shape == Shape{1})) return ACL_SUCCESS;
  return invalid(call.describe(position) + ", not " + std::to_string(size) + " numbers");
}

Status check(Call& call) {
  for (const std::size_t position : {kX1, kX2}) {
    ASCEND_TWIN_TRY(need_rank(call, position, 2, 2));
    ASCEND_TWIN_TRY(need_type(call, position, {ACL_INT8}));
    ASCEND_TWIN_TRY(need_matrix_order(call, position));
  }
  ASCEND_TWIN_TRY(need_nd(call, kX1));
  if (call.view(kX2).is_nz()) ASCEND_TWIN_TRY(need_nz(call, kX2));
  if (profile()->chip == k310p &&
      (call.integer(kTransposeX1) != 0 || call.integer(kTransposeX2) == 0))
    return invalid(call.describe(kX2) + ": this chip takes x1 as it is and x2 transposed");
  Shapes shapes;
  ASCEND_TWIN_TRY(shapes_of(call, &shapes));
  ASCEND_TWIN_TRY(check_types(call));
  ASCEND_TWIN_TRY(need_vector(call, kScale, shapes.n, true));
  ASCEND_TWIN_TRY(need_vector(call, kBias, shapes.n, false));
  ASCEND_TWIN_TRY(need_vector(call, kPerToken, shapes.m, false));
  ASCEND_TWIN_TRY(need_vector(call, kOffset, shapes.n, true));
  if (call.has(kPerToken)) ASCEND_TWIN_TRY(need_type(call, kPerToken, {ACL_FLOAT}));
  if (call.has(kOffset)) ASCEND_TWIN_TRY(need_type(call, kOffset, {ACL_FLOAT}));
  return need_shape(call, kOut, {shapes.m, shapes.n});
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  shapes.m = call.view(kOut).shape[0];
  shapes.n = call.view(kOut).shape[1];
  return product_workspace(shapes);
}

std::vector<double> read_scales(const Operand& operand) {
  if (is_float(operand.view.type)) return read(operand);
  std::vector<double> scales;
  for (const std::int64_t bits : read_integers(operand))
    scales.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  return scales;
}

/// Exact sums, [m][n].
std::vector<double> sums_of(const Kernel& kernel, const Shapes& shapes) {
  const std::vector<std::int64_t> a = read_integers(kernel.operand(kX1));
  const std::vector<std::int64_t> b = read_integers(kernel.operand(kX2));
  const bool a_turned = kernel.call.integer(kTransposeX1) != 0;
  const bool b_turned = kernel.call.integer(kTransposeX2) != 0;
  std::vector<double> sums;
  for (std::int64_t i = 0; i < shapes.m; ++i) {
    for (std::int64_t j = 0; j < shapes.n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t l = 0; l < shapes.k; ++l) {
        sum += a[static_cast<std::size_t>(a_turned ? l * shapes.m + i : i * shapes.k + l)] *
               b[static_cast<std::size_t>(b_turned ? j * shapes.k + l : l * shapes.n + j)];
      }
      sums.push_back(static_cast<double>(sum));
    }
  }
  return sums;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Shapes shapes;
  ASCEND_TWIN_TRY(shapes_of(call, &shapes));
  std::vector<double> values = sums_of(kernel, shapes);
  const auto optional = [&](std::size_t position, double otherwise) {
    return call.has(position) ? read(kernel.operand(position)) : std::vector<double>{otherwise};
  };
  const std::vector<double> scales = read_scales(kernel.operand(kScale));
  const std::vector<double> tokens = optional(kPerToken, 1);
  const std::vector<double> bias = optional(kBias, 0);
  const std::vector<double> offsets = optional(kOffset, 0);
  const bool bias_first = !call.has(kBias) || call.view(kBias).type == ACL_INT32;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % static_cast<std::size_t>(shapes.n);
    const std::size_t row = i / static_cast<std::size_t>(shapes.n);
    const double addend = bias[column % bias.size()];
    double value = (values[i] + (bias_first ? addend : 0)) * scales[column % scales.size()] *
                       tokens[row % tokens.size()] +
                   (bias_first ? 0 : addend) + offsets[column % offsets.size()];
    if (!is_float(call.view(kOut).type)) value = twin::round_half_even(value);
    values[i] = value;
  }
  write(kernel.operand(kOut), values);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "QuantMatmulV4",
                 .roles = "iiii?i?i?nno",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace quant_matmul

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(QuantMatmulV4, ascend_twin::quant_matmul::kOp,
          (x1, x2, scale, offset, pertokenScale, bias, transposeX1, transposeX2, out),
          const aclTensor* x1, const aclTensor* x2, const aclTensor* scale, const aclTensor* offset,
          const aclTensor* pertokenScale, const aclTensor* bias, bool transposeX1, bool transposeX2,
          const aclTensor* out)
