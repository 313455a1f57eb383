#include "ascend/ops/elementwise/binary.h"

#include "ascend/ops/elementwise/pointwise.h"

namespace ascend_twin {
namespace {

namespace binary {
constexpr std::size_t kFirst = 0;
constexpr std::size_t kSecond = 1;
constexpr std::size_t kAlpha = 2;

const Arithmetic& arithmetic_of(const Call& call) {
  return static_cast<const BinaryOp&>(call.op()).arithmetic;
}

bool is_scalar(const Call& call, std::size_t position) {
  return call.at(position).kind == Argument::Kind::kScalar;
}

bool has_alpha(const Call& call) {
  return call.size() > kAlpha && call.role(kAlpha) == 's';
}

aclDataType type_of(const Call& call) {
  aclDataType type;
  if (is_scalar(call, kFirst)) {
    type = promote_scalar(call.view(kSecond).type, call.at(kFirst).type);
  } else if (is_scalar(call, kSecond)) {
    type = promote_scalar(call.view(kFirst).type, call.at(kSecond).type);
  } else {
    type = promote(call.view(kFirst).type, call.view(kSecond).type);
  }
  const bool computes = type != ACL_DT_UNDEFINED && arithmetic_of(call).whole == nullptr;
  return computes && !is_float(type) ? ACL_FLOAT : type;
}

Status shape_of(const Call& call, Shape* shape) {
  if (is_scalar(call, kFirst) || is_scalar(call, kSecond)) {
    *shape = call.view(is_scalar(call, kFirst) ? kSecond : kFirst).shape;
  } else if (!broadcast_shapes(call.view(kFirst).shape, call.view(kSecond).shape, shape)) {
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kSecond) + ", not of a shape like " +
                                               text_of(call.view(kFirst).shape));
  }
  return ACL_SUCCESS;
}

std::vector<double> values_of(const Kernel& kernel, std::size_t position, const Shape& shape,
                              aclDataType type) {
  if (!is_scalar(kernel.call, position)) return read_as(kernel.operand(position), shape, type);
  return std::vector<double>(static_cast<std::size_t>(elements_of(shape)),
                             kernel.call.real(position));
}

std::vector<std::int64_t> integers_of(const Kernel& kernel, std::size_t position,
                                      const Shape& shape, aclDataType type) {
  if (!is_scalar(kernel.call, position))
    return read_integers_as(kernel.operand(position), shape, type);
  return std::vector<std::int64_t>(static_cast<std::size_t>(elements_of(shape)),
                                   kernel.call.integer(position));
}

}  // namespace binary

}  // namespace

Status check_binary(Call& call) {
  using namespace binary;
  ASCEND_TWIN_TRY(check_tensors(call));
  const aclDataType type = type_of(call);
  if (type == ACL_DT_UNDEFINED)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kSecond) + ", of no common type");
  Shape shape;
  ASCEND_TWIN_TRY(shape_of(call, &shape));
  if (has_alpha(call) && is_float(call.at(kAlpha).type) && !is_float(type))
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kAlpha) + " is a float for integers");
  ASCEND_TWIN_TRY(need_shape(call, output_of(call), shape));
  ASCEND_TWIN_TRY(
      need_castable(call, arithmetic_of(call).compares ? ACL_BOOL : type, output_of(call)));
  return check_survives(call, type);
}

Status run_binary(Kernel& kernel) {
  using namespace binary;
  const Call& call = kernel.call;
  const Arithmetic& arithmetic = arithmetic_of(call);
  const Operand& out = kernel.operand(output_of(call));
  const Shape& shape = out.view.shape;
  const aclDataType type = type_of(call);
  const aclDataType result_type = arithmetic.compares ? ACL_BOOL : type;
  if (is_float(type)) {
    std::vector<double> results = values_of(kernel, kFirst, shape, type);
    const std::vector<double> others = values_of(kernel, kSecond, shape, type);
    const double alpha = has_alpha(call) ? call.real(kAlpha) : 1;
    for (std::size_t i = 0; i < results.size(); ++i)
      results[i] = arithmetic.real(results[i], alpha * others[i]);
    write_cast(out, result_type, results);
    return ACL_SUCCESS;
  }
  std::vector<std::int64_t> results = integers_of(kernel, kFirst, shape, type);
  const std::vector<std::int64_t> others = integers_of(kernel, kSecond, shape, type);
  const auto alpha = static_cast<std::uint64_t>(has_alpha(call) ? call.integer(kAlpha) : 1);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t other = alpha * static_cast<std::uint64_t>(others[i]);  // wraps around
    results[i] = arithmetic.whole(results[i], static_cast<std::int64_t>(other));
  }
  write_cast(out, result_type, results);
  return ACL_SUCCESS;
}

std::uint64_t binary_workspace(const Call& call) {
  const aclDataType type = binary::type_of(call);
  return cast_bytes(call, type, binary::arithmetic_of(call).compares ? ACL_BOOL : type);
}

}  // namespace ascend_twin
