// MatMulV2 and BatchMatMulV2, which have a kernel of F32 operands on chips whose aclnnMatmul has
// none: they are rounded to F16 first, unless PRECISION_MODE forbids it.
#include "ascend/ops/products/cube.h"
#include "ascend/ops/products/sums.h"
#include "ascend/ops/shapes/dimensions.h"
#include "ascend/profiles.h"
#include "ascend/single_ops/single_op.h"

namespace ascend_twin {
namespace {

namespace matmul_v2 {
enum { kA, kB, kBias, kOut, kNumbers };

/// Whether operands of F32 are rounded; a refusal where they must not and the chip cannot.
Status numbers_of(const Call& call, CubeNumbers* numbers) {
  *numbers = CubeNumbers::kFull;
  if (call.view(kA).type != ACL_FLOAT) return ACL_SUCCESS;
  const std::string mode = compile_option(ACL_PRECISION_MODE);
  if (profile()->chip == k910b) {
    if (mode == "force_fp16") *numbers = CubeNumbers::kHalf;
    return ACL_SUCCESS;
  }
  if (mode == "must_keep_origin_dtype" || mode == "force_fp32")
    return invalid_argument(call, kA, "which this chip multiplies as F16 only");
  *numbers = CubeNumbers::kHalf;
  return ACL_SUCCESS;
}

Status batch_of(const Call& call, Shape* batch) {
  const Shape& a = call.view(kA).shape;
  const Shape& b = call.view(kB).shape;
  if (broadcast_shapes(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), batch))
    return ACL_SUCCESS;
  return invalid_argument(call, kB, "batches that do not fit");
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  for (const std::size_t position : {kA, kB}) {
    ASCEND_TWIN_TRY(need_rank(call, position, 2, 8));
    ASCEND_TWIN_TRY(need_type(call, position, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
    ASCEND_TWIN_TRY(need_same_type(call, kA, position));
  }
  const Shape& a = call.view(kA).shape;
  const Shape& b = call.view(kB).shape;
  if (a.back() != b[b.size() - 2])
    return invalid_argument(call, kB, "not a factor of " + text_of(a));
  if (call.has(kBias)) ASCEND_TWIN_TRY(need_shape(call, kBias, {b.back()}));
  Shape out;
  ASCEND_TWIN_TRY(batch_of(call, &out));
  out.insert(out.end(), {a[a.size() - 2], b.back()});
  ASCEND_TWIN_TRY(need_shape(call, kOut, out));
  if (call.view(kOut).type != ACL_FLOAT) ASCEND_TWIN_TRY(need_same_type(call, kA, kOut));
  // The options are read now: later changes don't reach queued work.
  CubeNumbers numbers;
  ASCEND_TWIN_TRY(numbers_of(call, &numbers));
  call.at(kNumbers).integer = static_cast<std::int64_t>(numbers);
  return ACL_SUCCESS;
}

/// Matrices [rows][inner] in each batch of the result.
std::vector<float> matrices(const Operand& operand, const Shape& batch, bool swapped,
                            CubeNumbers numbers) {
  Shape shape = batch;
  shape.insert(shape.end(), operand.view.shape.end() - 2, operand.view.shape.end());
  View view = broadcast(operand.view, shape);
  if (swapped) {
    std::swap(view.shape[view.rank() - 1], view.shape[view.rank() - 2]);
    std::swap(view.strides[view.rank() - 1], view.strides[view.rank() - 2]);
  }
  std::vector<float> values = read_floats(viewed(operand, view));
  round_for_cube(numbers, operand.saturates, values);
  return values;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  const auto numbers = static_cast<CubeNumbers>(call.integer(kNumbers));
  Shape batch;
  ASCEND_TWIN_TRY(batch_of(call, &batch));
  const std::vector<float> a = matrices(kernel.operand(kA), batch, false, numbers);
  const std::vector<float> b = matrices(kernel.operand(kB), batch, true, numbers);
  const std::vector<float> bias =
      kernel.has(kBias) ? read_floats(kernel.operand(kBias)) : std::vector<float>{};
  const std::int64_t k = call.view(kA).shape.back();
  const std::int64_t n = call.view(kB).shape.back();
  const std::int64_t m = call.view(kA).shape[call.view(kA).rank() - 2];
  std::vector<float> result(static_cast<std::size_t>(elements_of(batch) * m * n));
  for (std::int64_t i = 0; i < elements_of(batch); ++i) {
    multiply(a.data() + i * m * k, b.data() + i * n * k, m, n, k, result.data() + i * m * n);
  }
  for (std::size_t i = 0; i < result.size() && !bias.empty(); ++i)
    result[i] += bias[i % bias.size()];
  write_floats(kernel.operand(kOut), result);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "MatMulV2", .roles = "iii?on", .check = check, .run = run};
const Registered registered(kOp);
}  // namespace matmul_v2

}  // namespace
}  // namespace ascend_twin
