// Products of matrices: Matmul, whose batches broadcast, and its narrower forms.
#include "ascend/include/acl/aclnn_products.h"
#include "ascend/ops/op.h"
#include "ascend/ops/products/shapes.h"

namespace ascend_twin {
namespace {

namespace matmul {
enum { kSelf, kMat2, kOut, kCubeMathType };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_product(call, kSelf, kMat2, kOut));
  CubeNumbers numbers;
  return cube_numbers(call, kSelf, kMat2, kOut, call.integer(kCubeMathType), &numbers);
}

/// Both factors have this many dimensions.
template <std::size_t kRank>
Status check_of_rank(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kSelf, kRank, kRank));
  ASCEND_TWIN_TRY(need_rank(call, kMat2, kRank, kRank));
  return check(call);
}

Status check_weight_nz(Call& call) {
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 2, 6));
  ASCEND_TWIN_TRY(need_nz(call, kMat2));
  return check(call);
}

std::uint64_t workspace(const Call& call) {
  ProductShapes shapes;
  if (product_shapes(call, kSelf, kMat2, &shapes) != ACL_SUCCESS) return 0;
  return product_workspace(shapes);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  ProductShapes shapes;
  ASCEND_TWIN_TRY(product_shapes(call, kSelf, kMat2, &shapes));
  CubeNumbers numbers;
  ASCEND_TWIN_TRY(cube_numbers(call, kSelf, kMat2, kOut, call.integer(kCubeMathType), &numbers));
  write_floats(kernel.operand(kOut),
               product_of(kernel.operand(kSelf), kernel.operand(kMat2), shapes, numbers));
  return ACL_SUCCESS;
}

constexpr Op kOp{
    .name = "Matmul", .roles = "iion", .check = check, .run = run, .workspace = workspace};
constexpr Op kMm{
    .name = "Mm", .roles = "iion", .check = check_of_rank<2>, .run = run, .workspace = workspace};
constexpr Op kBatch{.name = "BatchMatMul",
                    .roles = "iion",
                    .check = check_of_rank<3>,
                    .run = run,
                    .workspace = workspace};
constexpr Op kWeightNz{.name = "MatmulWeightNz",
                       .roles = "iion",
                       .check = check_weight_nz,
                       .run = run,
                       .workspace = workspace};
}  // namespace matmul

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Matmul, ascend_twin::matmul::kOp, (self, mat2, out, cubeMathType), const aclTensor* self,
          const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
ASCEND_OP(Mm, ascend_twin::matmul::kMm, (self, mat2, out, cubeMathType), const aclTensor* self,
          const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
ASCEND_OP(BatchMatMul, ascend_twin::matmul::kBatch, (self, mat2, out, cubeMathType),
          const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
ASCEND_OP(MatmulWeightNz, ascend_twin::matmul::kWeightNz, (self, mat2, out, cubeMathType),
          const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
