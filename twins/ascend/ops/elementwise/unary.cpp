#include "ascend/ops/elementwise/unary.h"

#include <limits>

#include "ascend/ops/elementwise/pointwise.h"

namespace ascend_twin {
namespace {

namespace unary {

const Formula& formula_of(const Call& call) {
  return static_cast<const UnaryOp&>(call.op()).formula;
}

aclDataType type_of(const Call& call) {
  aclDataType type = call.view(0).type;
  for (std::size_t i = 1; i < call.size(); ++i) {
    if (call.role(i) == 's' && call.has(i)) type = promote_scalar(type, call.at(i).type);
  }
  return formula_of(call).whole == nullptr && !is_float(type) ? ACL_FLOAT : type;
}

aclDataType result_type_of(const Call& call) {
  return formula_of(call).yields_bool ? ACL_BOOL : type_of(call);
}

struct Parameters {
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
};
Parameters parameters_of(const Call& call) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Parameters parameters;
  for (std::size_t i = 1; i < call.size(); ++i) {
    if (call.role(i) != 's' && call.role(i) != 'n') continue;
    const bool is_first = parameters.reals.empty();
    if (!call.has(i)) {
      parameters.reals.push_back(is_first ? -kInfinity : kInfinity);
      parameters.integers.push_back(is_first ? std::numeric_limits<std::int64_t>::min()
                                             : std::numeric_limits<std::int64_t>::max());
    } else {
      // Numbers have no real part.
      parameters.reals.push_back(call.role(i) == 's' ? call.real(i)
                                                     : static_cast<double>(call.integer(i)));
      parameters.integers.push_back(call.integer(i));
    }
  }
  return parameters;
}

}  // namespace unary

}  // namespace

Status check_unary(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  ASCEND_TWIN_TRY(need_shape(call, output_of(call), call.view(0).shape));
  ASCEND_TWIN_TRY(need_castable(call, unary::result_type_of(call), output_of(call)));
  const Formula& formula = unary::formula_of(call);
  return formula.also == nullptr ? ACL_SUCCESS : formula.also(call);
}

Status run_unary(Kernel& kernel) {
  const Call& call = kernel.call;
  const Formula& formula = unary::formula_of(call);
  const Operand& self = kernel.operand(0);
  const Operand& out = kernel.operand(output_of(call));
  const unary::Parameters parameters = unary::parameters_of(call);
  const aclDataType type = unary::type_of(call);
  if (is_float(type)) {
    std::vector<double> values = read_as(self, self.view.shape, type);
    for (double& value : values) value = formula.real(value, parameters.reals.data());
    write_cast(out, unary::result_type_of(call), values);
    return ACL_SUCCESS;
  }
  std::vector<std::int64_t> values = read_integers_as(self, self.view.shape, type);
  for (std::int64_t& value : values) value = formula.whole(value, parameters.integers.data());
  write_cast(out, unary::result_type_of(call), values);
  return ACL_SUCCESS;
}

std::uint64_t unary_workspace(const Call& call) {
  return cast_bytes(call, unary::type_of(call), unary::result_type_of(call));
}

}  // namespace ascend_twin
