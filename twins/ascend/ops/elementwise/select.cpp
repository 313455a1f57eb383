// condition ? self : other. Elements that keep their type are moved as they are, bit by bit.
#include <cstring>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/pointwise.h"

namespace ascend_twin {
namespace {

namespace select {
enum { kCondition, kSelf, kOther, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  ASCEND_TWIN_TRY(need_type(call, kCondition, {ACL_BOOL, ACL_UINT8}));
  const aclDataType type = promote(call.view(kSelf).type, call.view(kOther).type);
  if (type == ACL_DT_UNDEFINED)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kOther) + ", of no common type");
  Shape choices;
  Shape shape;
  if (!broadcast_shapes(call.view(kSelf).shape, call.view(kOther).shape, &choices) ||
      !broadcast_shapes(call.view(kCondition).shape, choices, &shape))
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kCondition) + ", shapes do not broadcast");
  ASCEND_TWIN_TRY(need_shape(call, kOut, shape));
  return need_castable(call, type, kOut);
}

Status run_moves(const Kernel& kernel, const std::vector<std::int64_t>& chooses) {
  const Operand& out = kernel.operand(kOut);
  const View from[] = {broadcast(kernel.operand(kOther).view, out.view.shape),
                       broadcast(kernel.operand(kSelf).view, out.view.shape)};
  const std::byte* const hosts[] = {kernel.operand(kOther).host, kernel.operand(kSelf).host};
  const std::size_t size = bits_of(out.view.type) / 8;
  std::vector<std::byte> moved(chooses.size() * size);
  for (std::size_t i = 0; i < chooses.size(); ++i) {
    const std::size_t which = chooses[i] != 0 ? 1 : 0;
    const std::int64_t place = from[which].place_of(static_cast<std::int64_t>(i));
    std::memcpy(moved.data() + i * size, hosts[which] + place * static_cast<std::int64_t>(size),
                size);
  }
  write(out, std::vector<double>(chooses.size()));  // marks the bytes as written
  for (std::size_t i = 0; i < chooses.size(); ++i) {
    const std::int64_t place = out.view.place_of(static_cast<std::int64_t>(i));
    std::memcpy(out.host + place * static_cast<std::int64_t>(size), moved.data() + i * size, size);
  }
  return ACL_SUCCESS;
}

template <class Value>
void choose(const std::vector<std::int64_t>& chooses, const std::vector<Value>& others,
            std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (chooses[i] == 0) values[i] = others[i];
  }
}

Status run(Kernel& kernel) {
  const Operand& self = kernel.operand(kSelf);
  const Operand& other = kernel.operand(kOther);
  const Operand& out = kernel.operand(kOut);
  const Shape& shape = out.view.shape;
  Operand condition = kernel.operand(kCondition);
  condition.view = broadcast(condition.view, shape);
  const std::vector<std::int64_t> chooses = read_integers(condition);
  const aclDataType type = promote(self.view.type, other.view.type);
  if (self.view.type == other.view.type && type == out.view.type) return run_moves(kernel, chooses);
  if (is_float(type)) {
    std::vector<double> values = read_as(self, shape, type);
    choose(chooses, read_as(other, shape, type), values);
    write_cast(out, type, values);
  } else {
    std::vector<std::int64_t> values = read_integers_as(self, shape, type);
    choose(chooses, read_integers_as(other, shape, type), values);
    write_cast(out, type, values);
  }
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "SWhere", .roles = "iiio", .check = check, .run = run, .typed_by = kSelf};
}  // namespace select

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(SWhere, ascend_twin::select::kOp, (condition, self, other, out),
          const aclTensor* condition, const aclTensor* self, const aclTensor* other, aclTensor* out)
