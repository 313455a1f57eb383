#include "ascend/ops/products/cube.h"

#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {

namespace {

/// Types that the chip's unit takes, of both factors and of the result.
Status check_types(const Call& call, std::initializer_list<std::size_t> factors, std::size_t out,
                   bool to_half) {
  const bool is_310b = profile()->chip == k310b;
  const auto check = [&](std::size_t position) -> Status {
    const aclDataType type = call.view(position).type;
    if (is_310b && type != ACL_FLOAT16)
      return refuse(ACLNN_ERR_INNER_NULLPTR, call.describe(position) + ": no kernel but of F16");
    if (type == ACL_BF16 && !profile()->has_bf16)
      return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", which this chip has not");
    return ACL_SUCCESS;
  };
  for (const std::size_t position : factors) {
    ASCEND_TWIN_TRY(check(position));
    if (call.view(position).type == ACL_BF16 && to_half)
      return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", with USE_FP16");
  }
  return check(out);
}

}  // namespace

Status cube_numbers(const Call& call, std::size_t a, std::size_t b, std::size_t out,
                    std::int64_t cube_math_type, CubeNumbers* numbers) {
  *numbers = CubeNumbers::kFull;
  const aclDataType type = promote(call.view(a).type, call.view(b).type);
  if (cube_math_type < KEEP_DTYPE || cube_math_type > 4) {
    return refuse(ACLNN_ERR_PARAM_INVALID, "cubeMathType " + std::to_string(cube_math_type));
  }
  if (type != ACL_FLOAT && type != ACL_FLOAT16 && type != ACL_BF16)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(b) + ", no type to multiply");
  ASCEND_TWIN_TRY(check_types(call, {a, b}, out, cube_math_type == USE_FP16));
  if (type != ACL_FLOAT) return ACL_SUCCESS;
  if (profile()->chip == k310p) {
    if (cube_math_type == KEEP_DTYPE || cube_math_type == USE_HF32)
      return refuse(ACLNN_ERR_PARAM_INVALID, "this chip has no products of F32");
    *numbers = CubeNumbers::kHalf;
    return ACL_SUCCESS;
  }
  if (cube_math_type == ALLOW_FP32_DOWN_PRECISION || cube_math_type == USE_HF32)
    *numbers = CubeNumbers::kHf32;
  if (cube_math_type == USE_FP16) *numbers = CubeNumbers::kHalf;
  return ACL_SUCCESS;
}

void round_for_cube(CubeNumbers numbers, bool saturates, std::vector<float>& values) {
  if (numbers == CubeNumbers::kFull) return;
  const auto bits = static_cast<unsigned>(unknown("hf32 mantissa bits"));
  for (float& value : values) {
    const double exact = static_cast<double>(value);
    value = static_cast<float>(numbers == CubeNumbers::kHf32
                                   ? rounded_to_bits(exact, bits)
                                   : rounded_to(ACL_FLOAT16, exact, saturates));
  }
}

}  // namespace ascend_twin
