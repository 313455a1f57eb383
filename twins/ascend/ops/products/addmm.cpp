// Products with vectors and sums: Mv, Addmm, Ger.
#include "ascend/include/acl/aclnn_products.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"

namespace ascend_twin {
namespace {

namespace mv {
enum { kSelf, kVec, kOut, kCubeMathType };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 2, 2));
  ASCEND_TWIN_TRY(need_rank(call, kVec, 1, 1));
  ASCEND_TWIN_TRY(check_product(call, kSelf, kVec, kOut));
  CubeNumbers numbers;
  return cube_numbers(call, kSelf, kVec, kOut, call.integer(kCubeMathType), &numbers);
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  if (product_shapes(call, kSelf, kVec, &shapes) != ACL_SUCCESS) return 0;
  return product_workspace(shapes);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  ProductShapes shapes;
  ASCEND_TWIN_TRY(product_shapes(call, kSelf, kVec, &shapes));
  CubeNumbers numbers;
  ASCEND_TWIN_TRY(cube_numbers(call, kSelf, kVec, kOut, call.integer(kCubeMathType), &numbers));
  write_floats(kernel.operand(kOut),
               product_of(kernel.operand(kSelf), kernel.operand(kVec), shapes, numbers));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Mv", .roles = "iion", .check = check, .run = run, .workspace = workspace};
}  // namespace mv

namespace addmm {
enum { kSelf, kMat1, kMat2, kBeta, kAlpha, kOut, kCubeMathType };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kMat1, 2, 2));
  ASCEND_TWIN_TRY(need_rank(call, kMat2, 2, 2));
  ASCEND_TWIN_TRY(check_product(call, kMat1, kMat2, kOut));
  ASCEND_TWIN_TRY(need_type(call, kSelf, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
  ASCEND_TWIN_TRY(need_nd(call, kSelf));
  Shape shape;
  if (!broadcast_shapes(call.view(kSelf).shape, call.view(kOut).shape, &shape) ||
      shape != call.view(kOut).shape) {
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kSelf) + ", which does not broadcast to " +
                                               text_of(call.view(kOut).shape));
  }
  CubeNumbers numbers;
  // The chip's types hold for the addend, too.
  ASCEND_TWIN_TRY(cube_numbers(call, kMat1, kMat2, kSelf, call.integer(kCubeMathType), &numbers));
  return cube_numbers(call, kMat1, kMat2, kOut, call.integer(kCubeMathType), &numbers);
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  if (product_shapes(call, kMat1, kMat2, &shapes) != ACL_SUCCESS) return 0;
  return product_workspace(shapes);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  ProductShapes shapes;
  ASCEND_TWIN_TRY(product_shapes(call, kMat1, kMat2, &shapes));
  CubeNumbers numbers;
  ASCEND_TWIN_TRY(cube_numbers(call, kMat1, kMat2, kOut, call.integer(kCubeMathType), &numbers));
  const std::vector<float> products =
      product_of(kernel.operand(kMat1), kernel.operand(kMat2), shapes, numbers);
  std::vector<double> sums(products.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = call.real(kAlpha) * static_cast<double>(products[i]);
  // With a factor of 0 the addend is not read: a NaN in it has no effect.
  if (call.real(kBeta) != 0) {
    Operand self = kernel.operand(kSelf);
    self.view = broadcast(self.view, shapes.out);
    const std::vector<double> addends = read(self);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += call.real(kBeta) * addends[i];
  }
  write(kernel.operand(kOut), sums);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Addmm",
                 .roles = "iiisson",
                 .check = check,
                 .run = run,
                 .workspace = workspace,
                 .typed_by = kMat1};
}  // namespace addmm

namespace ger {
enum { kSelf, kVec2, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 1, 1));
  ASCEND_TWIN_TRY(need_rank(call, kVec2, 1, 1));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kVec2));
  ASCEND_TWIN_TRY(need_type(call, kOut, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
  return need_shape(call, kOut, {call.view(kSelf).shape[0], call.view(kVec2).shape[0]});
}

Status run(Kernel& kernel) {
  const std::vector<double> rows = read(kernel.operand(kSelf));
  const std::vector<double> columns = read(kernel.operand(kVec2));
  std::vector<double> products;
  products.reserve(rows.size() * columns.size());
  for (const double row : rows) {
    for (const double column : columns) products.push_back(row * column);
  }
  write(kernel.operand(kOut), products);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Ger", .roles = "iio", .check = check, .run = run};
}  // namespace ger

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Mv, ascend_twin::mv::kOp, (self, vec, out, cubeMathType), const aclTensor* self,
          const aclTensor* vec, aclTensor* out, int8_t cubeMathType)
ASCEND_OP(Addmm, ascend_twin::addmm::kOp, (self, mat1, mat2, beta, alpha, out, cubeMathType),
          const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
          const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType)
ASCEND_OP(Ger, ascend_twin::ger::kOp, (self, vec2, out), const aclTensor* self,
          const aclTensor* vec2, aclTensor* out)
