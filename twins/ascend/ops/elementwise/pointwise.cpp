#include "ascend/ops/elementwise/pointwise.h"

#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

namespace pointwise {

std::int64_t wrapped(aclDataType type, std::int64_t value) {
  std::byte cell[8] = {};
  encode_integer(type, cell, 0, value);
  return decode_integer(type, cell, 0);
}

}  // namespace pointwise

}  // namespace

aclDataType promote_scalar(aclDataType tensor, aclDataType scalar) {
  if (is_float(tensor)) return tensor;
  if (is_float(scalar)) return ACL_FLOAT;
  return tensor == ACL_BOOL ? scalar : tensor;
}

std::vector<double> read_as(const Operand& operand, const Shape& shape, aclDataType type) {
  Operand whole = operand;
  whole.view = broadcast(operand.view, shape);
  std::vector<double> values = read(whole);
  if (operand.view.type != type) {
    for (double& value : values) value = rounded_to(type, value, operand.saturates);
  }
  return values;
}

std::vector<std::int64_t> read_integers_as(const Operand& operand, const Shape& shape,
                                           aclDataType type) {
  Operand whole = operand;
  whole.view = broadcast(operand.view, shape);
  std::vector<std::int64_t> values = read_integers(whole);
  if (operand.view.type != type) {
    for (std::int64_t& value : values) value = pointwise::wrapped(type, value);
  }
  return values;
}

void write_cast(const Operand& out, aclDataType type, std::vector<double>& values) {
  if (out.view.type != type) {
    for (double& value : values) value = rounded_to(type, value, out.saturates);
  }
  write(out, values);
}

void write_cast(const Operand& out, aclDataType type, std::vector<std::int64_t>& values) {
  if (out.view.type != type) {
    for (std::int64_t& value : values) value = pointwise::wrapped(type, value);
  }
  write_integers(out, values);
}

std::uint64_t cast_bytes(const Call& call, aclDataType type, aclDataType result) {
  auto bytes = static_cast<std::uint64_t>(unknown("vector workspace"));
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      const aclDataType needed = i == output_of(call) && call.role(i) != 'x' ? result : type;
      if (view.type == needed) continue;
      const std::uint64_t copy = bytes_of(needed, static_cast<std::uint64_t>(view.elements()));
      bytes += (copy + 63) / 64 * 64;
    }
  }
  return bytes;
}

std::size_t output_of(const Call& call) {
  return call.role(0) == 'x' ? 0 : call.size() - 1;
}

Status check_tensors(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      if (view.is_nz())
        return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", in FRACTAL_NZ");
      if (view.type == ACL_BF16 && !profile()->has_bf16)
        return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", which this chip has not");
    }
  }
  return ACL_SUCCESS;
}

Status check_survives(const Call& call, aclDataType type) {
  if (support_of(std::string("fatal:") + call.op().name, type) != ACL_SUCCESS) return ACL_SUCCESS;
  const std::string reason = call.describe(0) + ", which ends the process on this chip";
  ASCEND_TWIN_TRY(object(ACL_ERROR_RT_AICPU_EXCEPTION, reason));
  return refuse(ACL_ERROR_RT_AICPU_EXCEPTION, reason);
}

}  // namespace ascend_twin
